"""Three short documents and a question about each."""

TOWER = """The Eiffel Tower was finished on 31 March 1889. It stands in Paris. Gustave Eiffel's company built the tower.

The tower is 330 metres high. Its lifts were replaced in 1897. Two hundred million people have visited it."""
BRIDGE = """The Forth Bridge was opened on 4 March 1890. Its steel weighs 53,000 tonnes. Sir John Fowler designed it.

Trains cross the bridge every day. It was painted for the last time in 2011."""
BREAD = "Bread is baked from flour and water. Yeast makes the dough rise. Sourdough needs no yeast from a shop."

QUESTIONS = ("When was the Eiffel Tower finished?", "Who designed the Forth Bridge?", "How is bread baked?")
