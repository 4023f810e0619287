"""As much of Samba's module as the program uses. It prints the account that is changed."""


class Account:
    def __init__(self, name):
        self.name = name


class PDB:
    def __init__(self, backend):
        self.backend = backend

    def getsampwnam(self, name):
        if name != "zoe":
            raise Exception("Unable to get user information")
        return Account(name)

    def update_sam_account(self, account):
        assert isinstance(account.nt_passwd, bytes) and len(account.nt_passwd) == 16
        assert isinstance(account.pass_last_set_time, int)
        print(self.backend, account.name, account.nt_passwd.hex())
