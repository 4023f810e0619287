# Sets the NT hash of an account of Samba, as pdbedit --set-nt-hash does, which reads it from its arguments
# only. The argument is the name of the account. Standard input has the hash in hexadecimal.
import sys
import time

try:
    from samba.samba3 import param, passdb
except ImportError as e:
    sys.exit("python3 has no module samba.samba3 (package python3-samba), which sets an NT hash: %s" % e)
try:
    config = param.get_context()
    config.load_default()
    accounts = passdb.PDB(config.get("passdb backend"))
    account = accounts.getsampwnam(sys.argv[1])
    account.nt_passwd = bytes.fromhex(sys.stdin.readline().strip())
    account.pass_last_set_time = int(time.time())
    accounts.update_sam_account(account)
except Exception as e:
    sys.exit("set the NT hash of %s: %s" % (sys.argv[1], e))
