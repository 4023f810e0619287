class Varstack:
    def __init__(self, config_filename):
        self.config = config_filename

    def evaluate(self, grains):
        return {"states": [self.config, grains["os"]], "grains": grains}
