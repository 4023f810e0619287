// Package sqltree converts rows of databases to pillars, for the external pillars mysql, postgres
// and sqlite3.
//
// Their entry in ext_pillar is a query, a list of queries, or a dictionary of names to queries; a
// name is the key of the result. A query is a text, a list of a text and a depth, or a dictionary
// with query, depth, as_list, as_json, with_lists and ignore_null. The first depth columns of a row
// are nested keys; with depth 0 all but the last are.
//
// The rules are those of salt/pillar/sql_base.py. Differences: with as_json a text column is parsed
// as JSON, while Salt only accepts columns that its driver has decoded. Dates, times and decimal
// numbers become text, while Salt cannot send them. A query with more than 100,000 rows or 64 MiB
// is an error.
package sqltree
