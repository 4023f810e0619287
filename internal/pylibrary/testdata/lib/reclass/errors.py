class ReclassException(Exception):
    pass


class NotFoundError(ReclassException):
    pass


class NodeNotFound(NotFoundError):
    pass
