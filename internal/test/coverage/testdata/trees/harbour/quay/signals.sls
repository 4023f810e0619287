#!pydsl
flags = __pillar__.get("flags", [])
state("mast").flag.hoisted(flags).require(file="/etc/crew")
state("boat").oar('pulled', stroke=2)
