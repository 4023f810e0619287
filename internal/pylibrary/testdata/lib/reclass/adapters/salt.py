# A library with the functions of reclass, for tests.
from reclass.errors import NodeNotFound


def ext_pillar(minion_id, pillar, inventory_base_uri=None, propagate_pillar_data_to_reclass=False):
    print("noise on standard output")
    if minion_id == "gone":
        raise NodeNotFound("Node 'gone' not found")
    if minion_id == "broken":
        raise ValueError("hunter2")
    return {"uri": inventory_base_uri, "pillar": pillar, 80: ("a", b"\xff", None, 1.5, True), "t": {(1, 2): set()}}


def top(minion_id, inventory_base_uri=None):
    return {"prod": [minion_id, inventory_base_uri]}
