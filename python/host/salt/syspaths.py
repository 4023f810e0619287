"""The directories of Salt on this system."""

import os

ROOT_DIR = "/"
CONFIG_DIR = "/etc/salt"
CACHE_DIR = "/var/cache/salt"
SOCK_DIR = "/var/run/salt"
SRV_ROOT_DIR = "/srv"
BASE_FILE_ROOTS_DIR = "/srv/salt"
BASE_MASTER_ROOTS_DIR = "/srv/salt-master"
BASE_PILLAR_ROOTS_DIR = "/srv/pillar"
BASE_THORIUM_ROOTS_DIR = "/srv/thorium"
HOME_DIR = os.path.expanduser("~")
LIB_STATE_DIR = CONFIG_DIR
LOGS_DIR = "/var/log/salt"
PIDFILE_DIR = "/var/run"
SHARE_DIR = "/usr/share/salt"
SPM_PARENT_PATH = "/srv/spm"
SPM_FORMULA_PATH = "/srv/spm/salt"
SPM_PILLAR_PATH = "/srv/spm/pillar"
SPM_REACTOR_PATH = "/srv/spm/reactor"
INSTALL_DIR = os.path.dirname(os.path.abspath(__file__))
CLOUD_DIR = os.path.join(INSTALL_DIR, "cloud")
BOOTSTRAP = os.path.join(CLOUD_DIR, "deploy", "bootstrap-salt.sh")
