#!py

def run():
    return {"x": {"crane.moved": [__salt__["keel.laid"]()]}}
