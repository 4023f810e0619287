from salt.utils.decorators.jinja import jinja_filter


@jinja_filter("shout")
def shout(text):
    return text.upper()
