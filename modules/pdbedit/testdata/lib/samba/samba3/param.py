"""As much of Samba's module as the program uses."""


class Context:
    def load_default(self):
        self.options = {"passdb backend": "tdbsam"}

    def get(self, name):
        return self.options[name]


def get_context():
    return Context()
