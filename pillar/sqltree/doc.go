// Package sqltree makes pillars of the rows of databases, for the external pillars mysql, postgres and sqlite3.
//
// The entry of such a pillar in ext_pillar is a query, a list of queries, or a dictionary of names to queries; a name is the key
// that the result stands under. A query is a text, a list of a text and a depth, or a dictionary with query, depth, as_list,
// as_json, with_lists and ignore_null. Of the columns of a row, the first so many as depth says are keys within one another; with
// depth 0 all but the last are.
//
// The rules are those of salt/pillar/sql_base.py. What differs: with as_json a column of text is read as JSON, where Salt takes
// none but columns that its driver has read already; dates, times and decimal numbers are text, where Salt cannot send them; and
// a query that yields more than 100,000 rows or 64 MiB is an error.
package sqltree
