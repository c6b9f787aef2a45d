"""Brands and option values, all made up for this catalog."""

from __future__ import annotations

from shapes import split

__all__ = ["BRANDS", "EXTRAS", "ORDERED", "POOLS"]

BRANDS = {
    "beauty": split(
        "Lumarosa|Velnyra|Ofelina|Puddlemoon|Quilliette|Sornella|Bexandra Fy|MOSSWIMPLE|Tilvane|"
        "Hushberry & Co|Ambrelune|Zefirelle|Karrabloom|Nuvielle|Dapperwold|Isoveen|Pelquin"
    ),
    "electronics": split(
        "VOLTARN|Zyntriq|Kelvanto|Brumble Tech|Oxarra|Plinqo|TRIVANE|Nebruno|Qubrix Nine|Hexalume|"
        "Dravolt|Sunmurk|Mekkano Vale|Fyrodax|Ulvetron|Wattlow|Ionella"
    ),
    "garden": split(
        "Hearthwick|Nordmoss|Ollenby|Tarnwick Home|Fernhollow|Casa Brindo|MAPLEQUIN|Umbelline|"
        "Quarrystead|Lindwurm & Daughters|Pottlebeck|Rooftree 9|Thistledrum|Velmoor|Wexcombe Loft"
    ),
    "fashion": split(
        "Bramblecut|Sevrina Lo|Northquill|OTTERVANE|Pinnafore|Jessamyte|Tolvany|Marlowick|Ruvello|"
        "Copperfinch|Zandavi|Fellmonger Row|Aurelique|Hobbleton|SKYLARN"
    ),
    "grocery": split(
        "Grumbleberry|Oatsmith & Vine|Saltmarsh Sally|Goldspoon Valley|Pip & Bramling|Kettlefold|"
        "Nonna Zirella|Bee Parliament|Hotwick|Larderly|Morrowmill|Tansy Fields"
    ),
}

#: what titles add that is no attribute
EXTRAS = {
    "beauty": split(
        "Beauty Must Have|Daily Care|Salon Favorite|Bathroom Essentials|Stocking Stuffer|Vanity Favorite|Bridesmaid Present|Weekend Ritual|Teen Favorite|"
        "Self Care Present for Her"
    ),
    "electronics": split(
        "2 Year Warranty|Works with Most Devices|New Version|for Home, School and Office|Upgraded|"
        "Tested to 10000 Uses|Desk Accessories|Gift for Tech Lovers|18 Month Replacement|Designed by Engineers|Gray Box Edition"
    ),
    "garden": split(
        "Modern Farmhouse|Boho Style|Scandinavian Look|Apartment Essentials|Rustic Home Decor|Cozy Decor|"
        "Housewarming Present|Minimalist Design|Dorm Essentials|Cottage Look|"
        "Farm Style|Mid Century Style"
    ),
    "fashion": split(
        "Casual Comfort|New Season|Wardrobe Staple|Trendy Style|Gift Idea|Classic Cut|"
        "Vintage Inspired|Street Style|Weekend Look|Designed for Real Bodies|Retro"
    ),
    "grocery": split(
        "Pantry Favorite|Kitchen Staple|Value Size|Fresh This Month|Party Favorite|Family Recipe|"
        "Care Package|Picnic Favorite|No Nonsense|Chef Approved|Country Style"
    ),
}

#: option pools; those in ORDERED are sizes and the like, of which a product offers a run
POOLS = {
    "cloth": split(
        "Black|White|Navy|Light Blue|Dark Green|Dusty Pink|Burgundy|Heather Gray|Lavender|Olive|Cream|"
        "Royal Blue"
    ),
    "print": split(
        "Blue Floral|Black Leopard|Pink Daisy|Green Palm|White Polka Dot|Navy Stripe|Yellow Lemon|"
        "Red Gingham|Coral Reef|Purple Fern|Tropical Sunset|Black/White|Red/White"
    ),
    "sport": split(
        "Black|White|Navy|Dark Green|Olive|Burgundy|Heather Gray|Neon Yellow|Black/White|Navy/Orange|"
        "Camo"
    ),
    "shoe": split("Black|Brown|Tan|Beige|White|Navy|Rose Gold|Olive|Dark Brown|Leopard|White/Gum"),
    "boot": split("Black|Brown|Tan|Beige|White|Navy|Olive|Dark Brown|Charcoal|White/Gum"),
    "home": split(
        "Ivory|Charcoal|Sage Green|Dusty Blue|Terracotta|Mustard Yellow|Light Gray|Dark Gray|Navy|"
        "Blush Pink|Cream|Black"
    ),
    "wood": split("Walnut|Natural|White Oak|Espresso|Black|Rustic Brown|Honey|Gray Wash"),
    "metal": split("Black|Brushed Nickel|Antique Brass|White|Bronze|Copper"),
    "gadget": split(
        "Black|White|Space Gray|Silver|Midnight Blue|Rose Gold|Mint Green|Red|Lilac|Orange"
    ),
    "case": split(
        "Clear|Black|Mint|Lavender Purple|Navy Blue|Pink Marble|Black Marble|Sunflower|Wild Mushroom|"
        "Night Sky|Green Fern|Blue Wave|Red Fox|Cherry Blossom|Gold Glitter|Rainbow|White Daisy"
    ),
    "shade": split(
        "01 Milk|02 Shell Pink|03 Rosewood|04 Poppy Red|05 Plum Jam|06 Cocoa|07 Bare Peach|08 Brick|"
        "09 Mauve Mist|10 Cranberry|11 Café au Lait|12 Coral Kiss|13 Midnight"
    ),
    "hair": split(
        "Jet Black|Natural Black|Dark Brown|Chestnut Brown|Honey Blonde|Ash Blonde|Ginger|"
        "Platinum Blonde|Ombre Brown to Blonde|Burgundy"
    ),
    "pastel": split("Pink|White|Mint|Lilac|Peach|Black|Sky Blue|Rose Gold|Tortoise|Champagne"),
    "scent": split(
        "Lavender|Vanilla|Sea Salt|Cedarwood|Fig & Moss|Rose|Eucalyptus Mint|Orange Blossom|"
        "Unscented|Almond Milk|Green Tea|Coconut"
    ),
    "clothing": split("X-Small|Small|Medium|Large|X-Large|XX-Large|3X-Large|4X-Large"),
    "kids": split("2-3 Years|3-4 Years|4-5 Years|5-6 Years|7-8 Years|9-10 Years"),
    "women shoe": split("5.5|6|6.5|7|7.5|8|8.5|9|9.5|10|11"),
    "men shoe": split("7|7.5|8|8.5|9|9.5|10|10.5|11|12|13"),
    "kids shoe": split("8 Toddler|9 Toddler|10 Toddler|11 Little Kid|12 Little Kid|13 Little Kid"),
    "collar": split("14.5 Neck|15 Neck|15.5 Neck|16 Neck|16.5 Neck|17 Neck|17.5 Neck"),
    "rug": split("2' x 3'|2' x 8'|3' x 5'|4' x 6'|5' x 7'|6' x 9'|8' x 10'|9' x 12'"),
    "pillow": split('12" x 20"|16" x 16"|18" x 18"|20" x 20"|24" x 24"|28" x 28"'),
    "canvas": split('8" x 10"|12" x 16"|16" x 24"|20" x 30"|24" x 36"|32" x 48"'),
    "curtain": split(
        '42" W x 45" L|42" W x 63" L|52" W x 63" L|52" W x 84" L|52" W x 96" L|52" W x 108" L'
    ),
    "bed": split("Twin|Twin XL|Full|Queen|King|California King"),
    "hose": split("25 Feet|50 Feet|75 Feet|100 Feet|150 Feet"),
    "pot": split("4 Inch|6 Inch|8 Inch|10 Inch|12 Inch|14 Inch"),
    "seat": split("24 Inch Counter Height|26 Inch Counter Height|30 Inch Bar Height"),
    "candle": split("3 Inch Jar|4 Inch Jar|5 Inch Jar|6 Inch Jar"),
    "basket": split("Small|Medium|Large|X-Large|Set of 3"),
    "cable": split("1.5 Feet|3.3 Feet|6.6 Feet|10 Feet|16 Feet|25 Feet"),
    "band": split("38-41 mm|42-45 mm|46-49 mm"),
    "tablet": split("8 Inch|10.2 Inch|11 Inch|12.9 Inch"),
    "laptop": split("11.6 Inch|13.3 Inch|14 Inch|15.6 Inch|17.3 Inch"),
    "phone": split("5.8 Inch Phone|6.1 Inch Phone|6.5 Inch Phone|6.7 Inch Phone"),
    "screen": split("60 Inch|84 Inch|100 Inch|120 Inch|150 Inch"),
    "length": split("12 Inch|14 Inch|16 Inch|18 Inch|20 Inch|22 Inch|24 Inch"),
    "bottle": split("1 Fl Oz|2 Fl Oz|4 Fl Oz|8 Fl Oz|16 Fl Oz"),
    "bag": split("4 Ounce|8 Ounce|12 Ounce|1 Pound|2 Pound|5 Pound"),
    "pack": split("Pack of 1|Pack of 2|Pack of 4|Pack of 6|Pack of 12"),
    "fit": split("Men|Women|Youth"),
    "brushes": split("Travel Set|Eye Set|Face Set|Full Set"),
    "glow": split("Warm White|Cool White|Multicolor|Blue|Pink|Purple|Amber"),
    "lash": split("Wispy Cat Eye|Natural|Doll Eye|Dramatic Volume|Half Lash|Lower Lash"),
    "watts": split("20W Single Port|30W Dual Port|45W Dual Port|65W Three Ports"),
    "tea": split(
        "Chamomile Honey|Mint Garden|Lemon Ginger|Rooibos Vanilla|Hibiscus Rose|Turmeric Orange|"
        "Apple Cinnamon|Lavender Dream"
    ),
    "coffee": split("Light Roast|Medium Roast|Dark Roast|Decaf|Hazelnut|Crème Brûlée|Espresso"),
    "bar": split(
        "Peanut Butter|Dark Chocolate Cherry|Açaí Berry|Coconut Almond|Salted Caramel|Apple Pie|"
        "Blueberry Oat|Banana Bread|Lemon Poppy"
    ),
    "heat": split("Mild Peach|Smoky Chipotle|Garlic Habanero|Mango Lime|Jalapeño|Ghost Pepper"),
    "nut": split("Smooth|Crunchy|Cinnamon|Maple|Cocoa Swirl|Sea Salt"),
    "fruit": split("Mango|Apricot|Cranberry|Pineapple|Tart Cherry|Apple Rings|Banana Chips|Fig"),
    "chocolate": split(
        "70% Dark|85% Dark|Gingerbread|Sea Salt|Orange Zest|Hazelnut|Mint Crisp|Raspberry|Espresso Bean"
    ),
    "corn": split("Sea Salt|White Cheddar|Kettle Sweet|Caramel|Chili Lime|Butter|Truffle"),
    "spice": split(
        "Smoked Paprika|Garlic Herb|Lemon Pepper|Taco Night|Curry Madras|Everything Bagel|Za'atar"
    ),
}

ORDERED = frozenset(
    split(
        "clothing|kids|women shoe|men shoe|kids shoe|collar|rug|pillow|canvas|curtain|bed|hose|pot|"
        "seat|candle|basket|cable|band|tablet|laptop|phone|screen|length|bottle|bag|pack|fit|brushes|watts"
    )
)
