// Package standard lists the built-in drivers of sdb. A master has the driver sqlite3 in addition.
package standard
