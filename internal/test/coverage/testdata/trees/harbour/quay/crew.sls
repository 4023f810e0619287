#!pyobjects

from salt://quay/map.sls import Quay

with File.managed("/etc/crew", contents=salt.crew.size("quay")):
    HullPlate.welded(Quay.plate(), require=File("/etc/crew"))
