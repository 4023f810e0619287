// Package sdb holds the built-in drivers of sdb, which read and write single values in external
// stores: one package for each driver, and the list of a minion or master in sdb/standard. The driver
// sqlite3 is in the list of a master only. The execution module sdb finds the driver of an address
// sdb://PROFILE/KEY and calls its function get, set or delete with the key and the profile.
//
// A driver is a plug-in: its functions have the parameters key, value (of set) and profile. get returns
// None for a value that does not exist. The drivers env and yaml belong to the module.
package sdb
