// Package postgresrole is Salt's states postgres_user and postgres_group: they keep the roles of a PostgreSQL server, those that may log in
// and those that others are in (salt/states/postgres_user.py, postgres_group.py). The module postgres does the work.
//
// What differs from Salt: a server that cannot be asked is a failure, in test mode too; changes are what the role was read to be after
// they were made, and what is still not so is a failure.
package postgresrole

//go:generate go run github.com/brineproject/brine/internal/docgen
