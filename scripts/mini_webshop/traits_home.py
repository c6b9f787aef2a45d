"""Attributes of anything, of the home and of electronics."""

from __future__ import annotations

from shapes import Trait

__all__ = ["ANY", "ELECTRONICS", "HOME"]

_of = Trait.of

ANY = {
    "easy clean": _of(
        "is",
        "Easy to Clean|Wipe Clean",
        "Easy to clean: a damp cloth and half a minute are all it takes.",
        "Little upkeep: spills wipe away before they have a chance to set.",
    ),
    "easy use": _of(
        "is",
        "Easy to Use|Simple to Use",
        "Easy to use: nothing to learn, and the leaflet is one page long.",
        "Simple from day one: works straight out of the box, also for grandparents.",
    ),
    "easy carry": _of(
        "is",
        "Easy to Carry|Portable",
        "Easy to carry: slips into a day bag and weighs next to nothing.",
        "Made for the road: small enough for a coat pocket or a glove box.",
    ),
    "high quality": _of(
        "is",
        "High Quality|Premium",
        "High quality: every batch is checked by hand before it is packed.",
        "Made with care: quality parts and clean finishing, inside as well as outside.",
    ),
    "heavy duty": _of(
        "is",
        "Heavy Duty|Extra Strong",
        "Heavy duty: built for daily use and rough handling.",
        "Strong where it counts: reinforced at the points that usually give way first.",
    ),
    "non slip": _of(
        "is",
        "Non Slip|Anti Slip",
        "Non slip: stays where you put it, even when things get wet.",
        "Good grip: the textured side keeps a firm hold.",
    ),
    "long lasting": _of(
        "is",
        "Long Lasting|Lasts and Lasts",
        "Long lasting: still as good after months of everyday use.",
        "Buy it once: made to keep its looks for years, not weeks.",
    ),
    "eco friendly": _of(
        "is",
        "Eco Friendly|Planet Friendly",
        "Eco friendly: packed in recycled card, without any plastic film.",
        "Kinder to the planet: made with less waste and shipped in plain paper.",
    ),
    "water resistant": _of(
        "is",
        "Water Resistant|Splash Proof",
        "Water resistant: shrugs off splashes and light rain.",
        "No fear of drops: water beads up and rolls off.",
    ),
    "light weight": _of(
        "is",
        "Lightweight|Ultra Light",
        "Light weight: so light that you forget you have it with you.",
        "Feather light: we left out every gram that was not needed.",
    ),
    "perfect gift": _of(
        "is",
        "Great Gift|Gift for Mom, Dad and Friends",
        "A perfect gift: comes in a box that is nice enough to leave unwrapped.",
        "For someone you like: a welcome present for birthdays, housewarmings and holidays.",
    ),
    "storage bag": _of(
        "with",
        "Storage Bag|Storage Bag Included",
        "Storage bag: a drawstring bag keeps everything together between uses.",
        "Tidy away: the storage bag that comes along doubles as a travel pouch.",
    ),
}

HOME = {
    "easy install": _of(
        "is",
        "Easy to Install|Quick Install",
        "Easy to install: up in ten minutes with the screws and the key in the bag.",
        "No handyman needed: everything for mounting is included.",
    ),
    "easy assemble": _of(
        "is",
        "Easy Assembly|Easy to Assemble",
        "Easy to assemble: numbered parts, clear drawings, about twenty minutes.",
        "Together in no time: one hex key does it all, and it is in the box.",
    ),
    "space saving": _of(
        "is",
        "Space Saving|Compact",
        "Space saving: a small footprint that suits flats, dorms and narrow halls.",
        "Fits tight corners: designed for rooms where every inch counts.",
    ),
    "machine wash": _of(
        "is",
        "Machine Washable",
        "Machine wash: cold, gentle cycle, tumble dry low.",
        "Care made simple: goes into the washer with the rest of the laundry.",
    ),
    "quick drying": _of(
        "is",
        "Quick Drying|Quick Dry",
        "Quick drying: hang it up and it is ready for the next one.",
        "Dries fast: air gets in from below, so nothing goes musty.",
    ),
    "soy wax": _of(
        "with",
        "Soy Wax",
        "Soy wax: burns slowly and without soot.",
        "Clean burning: plant wax and a cotton wick.",
    ),
    "fade resistant": _of(
        "is",
        "Fade Resistant|Colorfast",
        "Fade resistant: the colors stay true in a sunny window.",
        "Keeps its color: years of light do not dull it.",
    ),
    "super soft": _of(
        "is",
        "Super Soft|Silky Soft",
        "Super soft: brushed twice for a hand that feels like a favorite sweater.",
        "Touch it once: velvety to the skin and never scratchy.",
    ),
    "hand painted": _of(
        "is",
        "Hand Painted",
        "Hand painted: small differences from piece to piece are part of the charm.",
        "From the workshop: each one is finished with a brush by hand.",
    ),
    "solid wood": _of(
        "with",
        "Solid Wood|Solid Acacia Wood",
        "Solid wood: no veneer and no particle board, only grain all the way through.",
        "Real wood: sanded smooth and sealed with plant oil.",
    ),
    "engineered wood": _of(
        "with",
        "Engineered Wood",
        "Engineered wood: stays flat when the heating comes on and shrugs off scratches.",
        "Sturdy board: thick engineered wood with sealed edges.",
    ),
    "steel frame": _of(
        "with",
        "Steel Frame|Metal Frame",
        "Steel frame: powder coated against rust and chips.",
        "Stands firm: a welded steel frame that does not wobble.",
    ),
    "natural jute": _of(
        "with",
        "Natural Jute|Jute",
        "Natural jute: plant fiber, woven thick, with a warm and honest texture.",
        "From the field: undyed jute that grows nicer with age.",
    ),
    "cotton blend": _of(
        "with",
        "Cotton Blend|Cotton",
        "Cotton blend: breathes like cotton and wrinkles far less.",
        "Everyday cloth: a cotton blend of good weight that gets softer with washing.",
    ),
    "soft velvet": _of(
        "with",
        "Velvet|Soft Velvet",
        "Soft velvet: a short, dense pile that catches the light.",
        "A touch of luxury: velvet on both sides, pleasant in every season.",
    ),
    "faux linen": _of(
        "with",
        "Linen Look|Faux Linen",
        "Faux linen: the slubby look of linen without the ironing.",
        "Relaxed weave: textured like linen and easy to look after.",
    ),
    "polyester fabric": _of(
        "with",
        "Polyester",
        "Polyester fabric: tightly woven, keeps its shape and dries fast.",
        "Practical cloth: polyester that stands up to pets and children.",
    ),
    "glazed ceramic": _of(
        "with",
        "Glazed Ceramic|Ceramic",
        "Glazed ceramic: fired twice for an even, glossy skin.",
        "Kiln made: dense ceramic with a glaze that does not craze.",
    ),
    "storage space": _of(
        "with",
        "Extra Storage|Storage",
        "Storage space: room for everything that usually lies about.",
        "A place for things: more goes in than you would think.",
    ),
    "adjustable height": _of(
        "with",
        "Adjustable Height",
        "Adjustable height: set it in seconds, no tools.",
        "Up or down: moves smoothly and stays at the height you choose.",
    ),
    "led bulbs": _of(
        "with",
        "LED|Warm LED",
        "LED bulbs: warm white, cool to the touch, and sparing with power.",
        "Warm light: 2700 K diodes that do not flicker.",
    ),
    "remote control": _of(
        "with",
        "Remote Control|Remote",
        "Remote control: dim, time and switch from the sofa.",
        "At a distance: the little remote works from across the room.",
    ),
    "hidden zipper": _of(
        "with",
        "Hidden Zipper",
        "Hidden zipper: tucked into the seam, smooth to open and never scratching.",
        "Neat closing: the zipper disappears in the edge.",
    ),
    "drain hole": _of(
        "with",
        "Drainage Hole|Drain Hole",
        "Drain hole: roots never stand in water; a plug is included.",
        "Healthy roots: extra water runs off into the saucer.",
    ),
    "living room": _of(
        "for",
        "Living Room",
        "For the living room: calm enough for any sofa, handsome enough to be noticed.",
        "Made for company: looks at home in the living room.",
    ),
    "dining room": _of(
        "for",
        "Dining Room",
        "For the dining room: brings the table and the room together.",
        "Dinner is served: at home where people eat and talk.",
    ),
    "kids room": _of(
        "for",
        "Kids Room|Nursery",
        "For the kids room: approved by a panel of four-year-olds.",
        "Little ones welcome: made with playrooms and nurseries in mind.",
    ),
    "home office": _of(
        "for",
        "Home Office",
        "For the home office: makes the place you work in a place you like.",
        "Desk days: a friendly addition to a study or an office nook.",
    ),
    "small balcony": _of(
        "for",
        "Balcony|Small Balcony",
        "For the small balcony: sized for railings, ledges and narrow corners.",
        "Outside in small: turns a balcony into a garden.",
    ),
    "guest bedroom": _of(
        "for",
        "Bedroom|Guest Bedroom",
        "For the guest bedroom: visitors sleep better in a room that is cared for.",
        "Good night: quiet looks for the bedroom.",
    ),
}

ELECTRONICS = {
    "fast charging": _of(
        "is",
        "Fast Charging|Quick Charge",
        "Fast charging: half full in the time of a shower and a coffee.",
        "Less waiting: negotiates the highest speed that your device accepts.",
    ),
    "plug play": _of(
        "is",
        "Plug and Play",
        "Plug and play: no drivers, no app, no account.",
        "Ready at once: plug it in and the computer does the rest.",
    ),
    "easy install": _of(
        "is",
        "Easy to Install|Quick Install",
        "Easy to install: on in no time, without tools or swearing.",
        "No expert needed: drawings in the leaflet show each step.",
    ),
    "hands free": _of(
        "is",
        "Hands Free",
        "Hands free: cook, drive or draw while you talk and watch.",
        "Both hands for you: nothing to hold, nothing to balance.",
    ),
    "high speed": _of(
        "is",
        "High Speed",
        "High speed: moves a film in seconds and never stutters.",
        "Quick as you: no lag in calls, games or transfers.",
    ),
    "high definition": _of(
        "is",
        "HD|High Definition",
        "High definition: sharp edges and true colors, right into the corners.",
        "See it all: fine detail even when the light is poor.",
    ),
    "noise cancelling": _of(
        "is",
        "Noise Cancelling",
        "Noise cancelling: trains, fans and neighbors fade into the background.",
        "Peace at last: two microphones keep the noise out of your calls.",
    ),
    "wall mounted": _of(
        "is",
        "Wall Mounted|Wall Mount",
        "Wall mounted: template, anchors and screws included.",
        "Off the table: hangs on two screws and leaves the surface free.",
    ),
    "battery powered": _of(
        "is",
        "Battery Powered|Cordless",
        "Battery powered: runs for weeks before it asks for anything.",
        "No cable in the way: the battery inside does the work.",
    ),
    "scratch resistant": _of(
        "is",
        "Scratch Resistant",
        "Scratch resistant: keys and coins leave it cold.",
        "Stays clear: a hard coat fends off the marks of daily life.",
    ),
    "quick release": _of(
        "with",
        "Quick Release",
        "Quick release: one press and it is off; one click and it is on.",
        "Change in seconds: no tools and no broken fingernails.",
    ),
    "usb port": _of(
        "with",
        "USB Port|Extra USB Port",
        "USB port: tops up a second device on the side.",
        "One more socket: a USB port for watch, lamp or friend.",
    ),
    "gold plated": _of(
        "with",
        "Gold Plated Connectors|Gold Plated",
        "Gold plated: contacts that do not corrode and always make a clean connection.",
        "Good contact: plated plugs keep the signal steady.",
    ),
    "stereo sound": _of(
        "with",
        "Stereo Sound|Rich Stereo Sound",
        "Stereo sound: full bass, clear voices and a wide stage.",
        "Big for its size: two drivers fill the room without rattling.",
    ),
    "aluminum alloy": _of(
        "with",
        "Aluminum Alloy|Aluminum",
        "Aluminum alloy: milled, anodized and cool to the touch.",
        "Solid shell: aluminum instead of plastic, so it stays tight for years.",
    ),
    "carbon fiber": _of(
        "with",
        "Carbon Fiber",
        "Carbon fiber: stiff, strong and a third lighter than metal.",
        "Woven strength: carbon takes the knocks and keeps the weight down.",
    ),
    "tempered glass": _of(
        "with",
        "Tempered Glass|9H Tempered Glass",
        "Tempered glass: 9H hard, with rounded edges that do not catch.",
        "Glass on glass: smooth under the finger and clear to the edge.",
    ),
    "hydrogel film": _of(
        "with",
        "Hydrogel Film|Hydrogel",
        "Hydrogel film: bends around curved edges and heals small marks by itself.",
        "Soft shield: clings like a second skin, without any glue.",
    ),
    "soft silicone": _of(
        "with",
        "Soft Silicone|Silicone",
        "Soft silicone: supple, smooth and pleasant to hold.",
        "Flexible: gives way and comes back, does not yellow or go sticky.",
    ),
    "braided nylon": _of(
        "with",
        "Braided Nylon|Nylon Braided",
        "Braided nylon: bends ten thousand times without fraying.",
        "No more tangles: a woven sleeve that lies flat.",
    ),
    "vegan leather": _of(
        "with",
        "Vegan Leather",
        "Vegan leather: soft grain, neat stitching, no animal involved.",
        "Looks like leather: ages well and wipes clean.",
    ),
    "carrying case": _of(
        "with",
        "Carrying Case|with Case",
        "Carrying case: a firm case with room for all the small parts.",
        "Safe on the way: comes in a zipped case.",
    ),
    "night vision": _of(
        "with",
        "Night Vision|Color Night Vision",
        "Night vision: sees thirty feet into the dark.",
        "Never blind: switches to infrared by itself when the sun is gone.",
    ),
    "motion detection": _of(
        "with",
        "Motion Detection",
        "Motion detection: tells people from cats and leaves you alone otherwise.",
        "Knows when: a message on your phone as soon as something moves.",
    ),
    "home theater": _of(
        "for",
        "Home Theater",
        "For the home theater: film nights as they should be.",
        "Lights off: made for big pictures and big sound at home.",
    ),
    "video calls": _of(
        "for",
        "Video Calls|Meetings",
        "For video calls: be seen and heard as you are.",
        "Meeting ready: good manners for long days of calls.",
    ),
    "outdoor activities": _of(
        "for",
        "Outdoor|Camping and Hiking",
        "For outdoor activities: goes along to the lake, the trail and the camp site.",
        "Out you go: dust, heat and bumps are part of the plan.",
    ),
    "business travel": _of(
        "for",
        "Travel|Business Travel",
        "For business travel: one less thing to think about at the gate.",
        "Frequent flyer: packs flat and passes security without a fuss.",
    ),
}
