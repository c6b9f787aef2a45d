"""Attributes of beauty, fashion and grocery."""

from __future__ import annotations

from shapes import Trait

__all__ = ["BEAUTY", "FASHION", "GROCERY"]

_of = Trait.of

BEAUTY = {
    "cruelty free": _of(
        "is",
        "Cruelty Free",
        "Cruelty free: never tested on animals, at no step.",
        "Friends of rabbits: we try everything on ourselves.",
    ),
    "paraben free": _of(
        "is",
        "Paraben Free",
        "Paraben free: kept fresh without parabens.",
        "Left out on purpose: no parabens and no mineral oil.",
    ),
    "sulfate free": _of(
        "is",
        "Sulfate Free",
        "Sulfate free: a mild lather that does not strip.",
        "Gentle foam: cleans without sulfates.",
    ),
    "fragrance free": _of(
        "is",
        "Fragrance Free|Unscented",
        "Fragrance free: nothing to smell and nothing to sting.",
        "Quiet care: without perfume, for noses that have had enough.",
    ),
    "quick drying": _of(
        "is",
        "Quick Drying|Fast Dry",
        "Quick drying: dry to the touch in a minute or two.",
        "No smudges: sets while you find your keys.",
    ),
    "long lasting": _of(
        "is",
        "Long Lasting|All Day",
        "Long lasting: holds from the first coffee until midnight.",
        "All day: no need to check on it at lunch.",
    ),
    "double sided": _of(
        "is",
        "Double Sided|Two Sided",
        "Double sided: two in one, turn it over when you need the other.",
        "Both sides count: one for every day, one for the details.",
    ),
    "hand made": _of(
        "is",
        "Handmade",
        "Hand made: poured and cut in small batches.",
        "By people: each piece passes through four pairs of hands.",
    ),
    "shea butter": _of(
        "with",
        "Shea Butter",
        "Shea butter: rich and melting, and never greasy.",
        "Deep care: raw shea butter from a women's cooperative.",
    ),
    "coconut oil": _of(
        "with",
        "Coconut Oil",
        "Coconut oil: cold pressed, for shine and slip.",
        "A tropical classic: coconut oil that melts at skin warmth.",
    ),
    "aloe vera": _of(
        "with",
        "Aloe Vera|Aloe",
        "Aloe vera: cools and calms straight from the leaf.",
        "Soothing: aloe juice in place of plain water.",
    ),
    "tea tree": _of(
        "with",
        "Tea Tree|Tea Tree Oil",
        "Tea tree: fresh, clean and a little minty.",
        "Clears the air: a drop of tea tree oil in each portion.",
    ),
    "hyaluronic acid": _of(
        "with",
        "Hyaluronic Acid",
        "Hyaluronic acid: holds moisture where it is needed.",
        "Plump: two sizes of hyaluronic acid, for surface and depth.",
    ),
    "natural bristles": _of(
        "with",
        "Natural Bristle|Natural Bristles",
        "Natural bristles: pick up just enough and let go evenly.",
        "Old school: natural hair, washed, sorted and set by hand.",
    ),
    "synthetic bristles": _of(
        "with",
        "Soft Synthetic Bristles|Synthetic Bristles",
        "Synthetic bristles: dense, soft and free of animal hair.",
        "No shedding: synthetic fibers that keep their shape.",
    ),
    "bamboo handle": _of(
        "with",
        "Bamboo Handle|Bamboo",
        "Bamboo handle: warm in the hand, grown in three years.",
        "Light and strong: smooth bamboo, sealed against damp.",
    ),
    "beech wood": _of(
        "with",
        "Beech Wood|Beech",
        "Beech wood: from managed forests two valleys away.",
        "Grown near: fine grained beech that does not splinter.",
    ),
    "stainless steel": _of(
        "with",
        "Stainless Steel",
        "Stainless steel: no rust, no tarnish.",
        "Cool metal: polished stainless steel that rinses clean.",
    ),
    "matte finish": _of(
        "with",
        "Matte Finish|Matte",
        "Matte finish: soft as chalk, no shine.",
        "Velvet look: matte from the first coat.",
    ),
    "high gloss": _of(
        "with",
        "High Gloss|Glossy",
        "High gloss: shines like wet paint for a week.",
        "Mirror shine: a glossy top coat is built in.",
    ),
    "cellulose acetate": _of(
        "with",
        "Acetate|Cellulose Acetate",
        "Cellulose acetate: plant based, flexible and hard to break.",
        "Polished like stone: acetate with depth in its color.",
    ),
    "faux mink": _of(
        "with",
        "Faux Mink",
        "Faux mink: fluffy fibers with fine tips.",
        "Soft as fur: and no animal was asked for it.",
    ),
    "silk fibers": _of(
        "with",
        "Silk|Silk Fibers",
        "Silk fibers: fine, dark and barely shiny.",
        "Thin as thread: silk that weighs nothing on the lid.",
    ),
    "real hair": _of(
        "with",
        "Real Hair|Human Hair",
        "Real hair: wash, curl and straighten like your own.",
        "Natural fall: all strands run in one direction.",
    ),
    "heat resistant": _of(
        "with",
        "Heat Resistant Fiber|Heat Resistant",
        "Heat resistant: good up to 350 °F, so style as you like.",
        "Warm welcome: does not mind irons, tongs and dryers.",
    ),
    "travel size": _of(
        "with",
        "Travel Size",
        "Travel size: small enough for the tray at the airport.",
        "Goes along: fits in hand luggage and gym bags.",
    ),
    "dry skin": _of(
        "for",
        "Dry Skin",
        "For dry skin: takes the tightness away and keeps it away.",
        "Thirsty skin: comfort from the first use, also in winter.",
    ),
    "sensitive skin": _of(
        "for",
        "Sensitive Skin",
        "For sensitive skin: short list of ingredients, tested by dermatologists.",
        "Touchy skin welcome: mild enough for cheeks that redden easily.",
    ),
    "oily hair": _of(
        "for",
        "Oily Hair",
        "For oily hair: light roots for a day longer.",
        "Fresh roots: takes off oil without drying the tips.",
    ),
    "damaged hair": _of(
        "for",
        "Damaged Hair|Dry Damaged Hair",
        "For damaged hair: smooths split ends and makes combing easy.",
        "After bleach and heat: gives tired lengths their bounce back.",
    ),
    "fine lines": _of(
        "for",
        "Fine Lines",
        "For fine lines: softens what long nights and laughing leave behind.",
        "Smoother: small lines look smaller after a month.",
    ),
    "curly hair": _of(
        "for",
        "Curly Hair",
        "For curly hair: respects the curl and tames the frizz.",
        "Curls first: made with people whose hair has its own mind.",
    ),
    "eye makeup": _of(
        "for",
        "Eye Makeup",
        "For eye makeup: small and exact, for lids and lash lines.",
        "All about eyes: the right tool for the smallest canvas.",
    ),
}

FASHION = {
    "machine wash": _of(
        "is",
        "Machine Washable",
        "Machine wash: cold with like colors, hang or tumble dry low.",
        "Easy laundry: comes out of the washer ready to wear.",
    ),
    "hand wash": _of(
        "is",
        "Hand Wash",
        "Hand wash: cool water, dry flat, thank you.",
        "Gentle care: rinse by hand and it stays lovely.",
    ),
    "slim fit": _of(
        "is",
        "Slim Fit",
        "Slim fit: close to the body without pinching; size up for a looser look.",
        "Neat lines: cut slim through waist and leg.",
    ),
    "loose fit": _of(
        "is",
        "Loose Fit|Relaxed Fit",
        "Loose fit: room to move, room to breathe.",
        "Relaxed: an easy cut that hangs well on many shapes.",
    ),
    "moisture wicking": _of(
        "is",
        "Moisture Wicking",
        "Moisture wicking: carries sweat away and dries on the go.",
        "Stays dry: the inside never clings.",
    ),
    "quick drying": _of(
        "is",
        "Quick Dry|Quick Drying",
        "Quick drying: wet at noon, dry for the bus.",
        "Dries fast: wring it out and wear it on.",
    ),
    "open toe": _of(
        "is",
        "Open Toe",
        "Open toe: shows the pedicure, lets in the breeze.",
        "Free toes: no seam where it could rub.",
    ),
    "long sleeve": _of(
        "with",
        "Long Sleeve",
        "Long sleeve: full length with a cuff that stays put.",
        "Covered arms: sleeves that roll up neatly.",
    ),
    "short sleeve": _of(
        "with",
        "Short Sleeve",
        "Short sleeve: cut to the middle of the upper arm.",
        "Summer arms: short sleeves with a clean double seam.",
    ),
    "elastic waist": _of(
        "with",
        "Elastic Waist|Elastic Waistband",
        "Elastic waist: wide, soft and never rolling.",
        "Comfort first: the waist gives when you sit down.",
    ),
    "drawstring closure": _of(
        "with",
        "Drawstring",
        "Drawstring closure: tie it as tight as you like.",
        "Adjust and go: flat cords that do not slip out in the wash.",
    ),
    "button closure": _of(
        "with",
        "Button Front|Buttons",
        "Button closure: sewn on with a shank, spare one inside.",
        "Good buttons: nice to the finger and firmly held.",
    ),
    "zipper closure": _of(
        "with",
        "Zipper|Zip Closure",
        "Zipper closure: runs smoothly with gloves on.",
        "Zip up: a sturdy zipper with a cord to pull.",
    ),
    "side pockets": _of(
        "with",
        "Pockets|Side Pockets",
        "Side pockets: deep enough for a phone and two hands.",
        "Yes, pockets: real ones.",
    ),
    "rubber sole": _of(
        "with",
        "Rubber Sole",
        "Rubber sole: grips on tiles, decks and wet leaves.",
        "Sure step: a flexible rubber sole with deep grooves.",
    ),
    "memory foam": _of(
        "with",
        "Memory Foam",
        "Memory foam: an insole that learns your foot.",
        "Soft landing: memory foam from heel to toe.",
    ),
    "ankle strap": _of(
        "with",
        "Ankle Strap",
        "Ankle strap: with a buckle that is really adjustable.",
        "Held well: a strap that keeps the heel in place.",
    ),
    "arch support": _of(
        "with",
        "Arch Support",
        "Arch support: shaped for long days on hard floors.",
        "Feet say thanks: lift where the foot needs it.",
    ),
    "fleece lined": _of(
        "with",
        "Fleece Lined",
        "Fleece lined: warm from the first minute.",
        "Winter inside: a brushed lining that holds the heat.",
    ),
    "pure cotton": _of(
        "with",
        "100% Cotton|Cotton",
        "Pure cotton: combed, ring spun and soft from the start.",
        "Only cotton: breathes well and gets better with age.",
    ),
    "merino wool": _of(
        "with",
        "Merino Wool",
        "Merino wool: fine fibers that warm without itching.",
        "From the flock: merino that airs out overnight.",
    ),
    "linen blend": _of(
        "with",
        "Linen Blend|Linen",
        "Linen blend: cool, crisp and happily creased.",
        "Summer cloth: linen and viscose, light as air.",
    ),
    "stretch jersey": _of(
        "with",
        "Stretch Jersey|Stretch",
        "Stretch jersey: follows every move and springs back.",
        "Gives way: four way stretch with good recovery.",
    ),
    "recycled polyester": _of(
        "with",
        "Recycled Polyester",
        "Recycled polyester: twelve bottles live on in each piece.",
        "Second life: spun from recycled flakes, quick to dry.",
    ),
    "canvas upper": _of(
        "with",
        "Canvas",
        "Canvas upper: airy, tough and easy to sponge off.",
        "Plain good canvas: softens to your foot in a week.",
    ),
    "suede upper": _of(
        "with",
        "Suede",
        "Suede upper: soft nap, warm color, a brush keeps it fresh.",
        "Velvety outside: suede that needs no breaking in.",
    ),
    "everyday wear": _of(
        "for",
        "Everyday|Everyday Wear",
        "For everyday wear: office, school run, sofa.",
        "Goes with everything: a daily companion.",
    ),
    "beach vacation": _of(
        "for",
        "Beach|Vacation",
        "For a beach vacation: sand shakes off and salt rinses out.",
        "Suitcase favorite: packs small and needs no iron.",
    ),
    "gym workout": _of(
        "for",
        "Gym|Workout",
        "For the gym workout: stays in place from warm up to stretch.",
        "Made to sweat in: yoga, running, lifting.",
    ),
    "cold weather": _of(
        "for",
        "Winter|Cold Weather",
        "For cold weather: layers well and keeps the wind out.",
        "Bring on winter: tested on frosty dog walks.",
    ),
}

GROCERY = {
    "gluten free": _of("is", "Gluten Free", "Gluten free: made in a kitchen without wheat."),
    "low sugar": _of("is", "Low Sugar", "Low sugar: two grams a serving, no sweetener games."),
    "non gmo": _of("is", "Non GMO", "Non GMO: from seed to shelf."),
    "plant based": _of("is", "Plant Based|Vegan", "Plant based: nothing from animals in it."),
    "dairy free": _of("is", "Dairy Free", "Dairy free: creamy all the same."),
    "certified organic": _of(
        "is", "Organic|Certified Organic", "Certified organic: grown without synthetic sprays."
    ),
    "caffeine free": _of("is", "Caffeine Free", "Caffeine free: fine at midnight."),
    "keto friendly": _of("is", "Keto Friendly", "Keto friendly: three net carbs a serving."),
    "individually wrapped": _of(
        "is", "Individually Wrapped", "Individually wrapped: fresh to the last one, easy to share."
    ),
    "small batch": _of("is", "Small Batch", "Small batch: made on Tuesdays, shipped on Thursdays."),
    "fair trade": _of("is", "Fair Trade", "Fair trade: farmers are paid first, and properly."),
    "slow roasted": _of("is", "Slow Roasted", "Slow roasted: low heat, long time, no burnt edges."),
    "high protein": _of("with", "High Protein", "High protein: eleven grams in every serving."),
    "natural ingredients": _of(
        "with",
        "Natural Ingredients",
        "Natural ingredients: you can read the list without a dictionary.",
    ),
    "sea salt": _of("with", "Sea Salt", "Sea salt: a pinch of flakes, raked by hand."),
    "raw honey": _of("with", "Raw Honey", "Raw honey: unheated, from meadows we know by name."),
    "dark cocoa": _of("with", "Dark Cocoa", "Dark cocoa: deep, bitter and round."),
    "resealable bag": _of("with", "Resealable Bag", "Resealable bag: zip it and it keeps."),
    "gift box": _of("with", "Gift Box", "Gift box: tied with string, with room for a card."),
    "school lunch": _of("for", "School Lunch", "For the school lunch: small hands, no crumbs."),
    "cold brew": _of("for", "Cold Brew", "For cold brew: smooth after a night in the fridge."),
    "movie night": _of("for", "Movie Night", "For movie night: a bowl for everyone."),
    "family dinner": _of("for", "Family Dinner", "For the family dinner: on the table in minutes."),
}
