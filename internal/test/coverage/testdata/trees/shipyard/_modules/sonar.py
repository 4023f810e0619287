__virtualname__ = "echo"


def depth(name):
    return 3
