package mongodb

import (
	"context"
	"fmt"
	"regexp"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// A server is where to log in.
type server struct {
	User     any `default:"None"`
	Password any `default:"None"`
	Host     any `default:"None"`
	Port     any `default:"None"`
}

type loginArgs struct {
	server
	Authdb any `default:"None"`
}

type databaseArgs struct {
	server
	Database string `default:"'admin'"`
	Authdb   any    `default:"None"`
}

func (a loginArgs) login() login { return login{a.User, a.Password, a.Host, a.Port, a.Authdb} }

func (a databaseArgs) login() login { return login{a.User, a.Password, a.Host, a.Port, a.Authdb} }

type dbArgs struct {
	Name string
	loginArgs
}

type userArgs struct {
	Name string
	databaseArgs
}

// dbList returns the names of the databases, or the text of the server's error. The arguments user,
// password, host and port of each function default to the options mongodb.user, mongodb.password,
// mongodb.host and mongodb.port; authdb is the database to log in to.
//
// CLI Example:
//
//	salt '*' mongodb.db_list <user> <password> <host> <port>
func (m *module) dbList(ctx context.Context, a loginArgs) (any, error) {
	return failed(m.run(ctx, a.login(), "admin", "admin",
		`return conn.getDB("admin").adminCommand({ listDatabases: 1, nameOnly: true }).databases.map(
      function (d) { return d.name; });`))
}

// dbExists returns whether a database exists.
//
// CLI Example:
//
//	salt '*' mongodb.db_exists <name>
func (m *module) dbExists(ctx context.Context, a dbArgs) (any, error) {
	v, err := m.dbList(ctx, a.loginArgs)
	list, ok := v.([]any)
	if err == nil && !ok {
		err = loader.Execution("%s", data.Str(v))
	}
	for _, name := range list {
		if name == a.Name {
			return true, nil
		}
	}
	return false, err
}

// dbRemove removes a database with its data, and returns True or the text of the server's error.
//
// CLI Example:
//
//	salt '*' mongodb.db_remove <name>
func (m *module) dbRemove(ctx context.Context, a dbArgs) (any, error) {
	return done(m.run(ctx, a.login(), "admin", a.Name, "return check(db.dropDatabase());"))
}

// version returns the version of the server, or the text of its error.
//
// CLI Example:
//
//	salt '*' mongodb.version <user> <password> <host> <port>
func (m *module) version(ctx context.Context, a databaseArgs) (any, error) {
	return failed(m.run(ctx, a.login(), "admin", a.Database,
		"return check(db.runCommand({ buildInfo: 1 })).version;"))
}

// userFind returns a list with the user of a name in a database, or False and the text of the server's error.
//
// CLI Example:
//
//	salt '*' mongodb.user_find <name> <user> <password> <host> <port> <database>
func (m *module) userFind(ctx context.Context, a userArgs) (any, error) {
	v, err := failed(m.run(ctx, a.login(), "admin", a.Database,
		"return check(db.runCommand({ usersInfo: input.name })).users;", "name", a.Name))
	if text, ok := v.(string); ok {
		return data.Tuple{false, text}, err
	}
	return v, err
}

// userList returns the users of a database with their roles, or the text of the server's error.
//
// CLI Example:
//
//	salt '*' mongodb.user_list <user> <password> <host> <port> <database>
func (m *module) userList(ctx context.Context, a databaseArgs) (any, error) {
	return failed(m.run(ctx, a.login(), "admin", a.Database,
		`return check(db.runCommand({ usersInfo: 1 })).users.map(
      function (u) { return { user: u.user, roles: u.roles }; });`))
}

// userExists returns whether a database has a user.
//
// CLI Example:
//
//	salt '*' mongodb.user_exists <name> <user> <password> <host> <port> <database>
func (m *module) userExists(ctx context.Context, a userArgs) (any, error) {
	user, err := m.find1(ctx, a)
	return user != nil, err
}

// find1 returns a user of a database, or nil.
func (m *module) find1(ctx context.Context, a userArgs) (*data.Map, error) {
	v, err := m.userList(ctx, a.databaseArgs)
	list, ok := v.([]any)
	if err == nil && !ok {
		err = loader.Execution("%s", data.Str(v))
	}
	for _, one := range list {
		if user, _ := one.(*data.Map); user.Text("user") == a.Name {
			return user, nil
		}
	}
	return nil, err
}

type createArgs struct {
	Name   string
	Passwd string
	databaseArgs
	Roles []any `default:"None"`
}

// userCreate creates a user of a database with roles, and returns whether the server did.
//
// CLI Example:
//
//	salt '*' mongodb.user_create <user_name> <user_password> <roles> <user> <password> <host> <port> <database>
func (m *module) userCreate(ctx context.Context, a createArgs) (any, error) {
	roles := []any{}
	for _, role := range a.Roles {
		roles = append(roles, data.NewMap("role", role, "db", a.Database))
	}
	v, err := done(m.run(ctx, a.login(), "admin", a.Database,
		"return check(db.runCommand({ createUser: input.name, pwd: input.passwd, roles: input.roles }));",
		"name", a.Name, "passwd", a.Passwd, "roles", roles))
	return v == true, err
}

// userRemove removes a user of a database, and returns whether the server did.
//
// CLI Example:
//
//	salt '*' mongodb.user_remove <name> <user> <password> <host> <port> <database>
func (m *module) userRemove(ctx context.Context, a userArgs) (any, error) {
	v, err := done(m.run(ctx, a.login(), "admin", a.Database,
		"return check(db.runCommand({ dropUser: input.name }));",
		"name", a.Name))
	return v == true, err
}

type rolesArgs struct {
	Name     string
	Roles    any
	Database string
	server
	Authdb any `default:"None"`
}

// roles returns the roles of an argument, which may be JSON.
func (a rolesArgs) roles() ([]any, bool) {
	v, err := parsed(a.Roles)
	list, ok := v.([]any)
	return list, err == nil && ok
}

func (a rolesArgs) login() login { return login{a.User, a.Password, a.Host, a.Port, a.Authdb} }

// userRolesExists returns whether a user has all of these roles. A role is a name in the database, or a
// dictionary with role and db.
//
// CLI Example:
//
//	salt '*' mongodb.user_roles_exists johndoe '["readWrite"]' dbname admin adminpwd localhost 27017
func (m *module) userRolesExists(ctx context.Context, a rolesArgs) (any, error) {
	roles, ok := a.roles()
	if !ok {
		return "Roles provided in wrong format", nil
	}
	user, err := m.find1(ctx, userArgs{a.Name, databaseArgs{a.server, a.Database, a.Authdb}})
	if err != nil || user == nil {
		return false, err
	}
	has, _ := user.Value("roles").([]any)
	for _, role := range roles {
		if _, ok := role.(*data.Map); !ok {
			role = data.NewMap("role", role, "db", a.Database)
		}
		found := false
		for _, one := range has {
			found = found || data.Equal(one, role)
		}
		if !found {
			return false, nil
		}
	}
	return true, nil
}

// userGrantRoles gives a user roles, and returns True or the text of the server's error.
//
// CLI Example:
//
//	salt '*' mongodb.user_grant_roles johndoe '["readWrite"]' dbname admin adminpwd localhost 27017
func (m *module) userGrantRoles(ctx context.Context, a rolesArgs) (any, error) {
	roles, ok := a.roles()
	if !ok {
		return "Roles provided in wrong format", nil
	}
	return done(m.run(ctx, a.login(), "admin", a.Database,
		"return check(db.runCommand({ grantRolesToUser: input.name, roles: input.roles }));", "name", a.Name,
		"roles", roles))
}

// userRevokeRoles takes roles from a user, and returns True or the text of the server's error.
//
// CLI Example:
//
//	salt '*' mongodb.user_revoke_roles johndoe '["readWrite"]' dbname admin adminpwd localhost 27017
func (m *module) userRevokeRoles(ctx context.Context, a rolesArgs) (any, error) {
	roles, ok := a.roles()
	if !ok {
		return "Roles provided in wrong format", nil
	}
	return done(m.run(ctx, a.login(), "admin", a.Database,
		"return check(db.runCommand({ revokeRolesFromUser: input.name, roles: input.roles }));", "name", a.Name,
		"roles", roles))
}

type collectionArgs struct {
	Collection string
	databaseArgs
}

// collectionCreate creates a collection, and returns True or the text of the server's error.
//
// CLI Example:
//
//	salt '*' mongodb.collection_create mycollection <user> <password> <host> <port> <database>
func (m *module) collectionCreate(ctx context.Context, a collectionArgs) (any, error) {
	return done(m.run(ctx, a.login(), a.Database, a.Database, "return check(db.createCollection(input.name));",
		"name", a.Collection))
}

// collectionDrop drops a collection, and returns True or the text of the server's error.
//
// CLI Example:
//
//	salt '*' mongodb.collection_drop mycollection <user> <password> <host> <port> <database>
func (m *module) collectionDrop(ctx context.Context, a collectionArgs) (any, error) {
	return done(m.run(ctx, a.login(), a.Database, a.Database, "return db.getCollection(input.name).drop();",
		"name", a.Collection))
}

// collectionsList returns the names of the collections of a database, or the text of the server's error.
//
// CLI Example:
//
//	salt '*' mongodb.collections_list <user> <password> <host> <port> <database>
func (m *module) collectionsList(ctx context.Context, a databaseArgs) (any, error) {
	return failed(m.run(ctx, a.login(), a.Database, a.Database, "return db.getCollectionNames();"))
}

type insertArgs struct {
	Objects    any
	Collection string
	databaseArgs
}

// insert inserts a list of documents into a collection, and returns True or the text of the server's error.
//
// CLI Example:
//
//	salt '*' mongodb.insert '[{"foo": "FOO"}]' mycollection <user> <password> <host> <port> <database>
func (m *module) insert(ctx context.Context, a insertArgs) (any, error) {
	objects, err := parsed(a.Objects)
	if err != nil {
		return err.Error(), nil
	}
	return failed(m.run(ctx, a.login(), a.Database, a.Database,
		"return db.getCollection(input.name).insertMany(input.objects).acknowledged;", "name", a.Collection,
		"objects", objects))
}

// updateOne changes a document: objects is a text with a query and the fields to set. It returns a text.
//
// CLI Example:
//
//	salt '*' mongodb.update_one '{"_id": "my_minion"} {"bar": "BAR"}' mycollection <user> <password> <host> <port> <database>
func (m *module) updateOne(ctx context.Context, a insertArgs) (any, error) {
	parts := regexp.MustCompile(`}\s+{`).Split(data.Str(a.Objects), -1)
	if len(parts) != 2 {
		return `Your request does not contain a valid '{_"id": "my_id"} {"my_doc": "my_val"}'`, nil
	}
	query, err := parsed(parts[0] + "}")
	if err != nil {
		return err.Error(), nil
	}
	fields, err := parsed("{" + parts[1])
	if err != nil {
		return err.Error(), nil
	}
	found, err := m.find(ctx, findArgs{a.Collection, query, a.databaseArgs})
	list, ok := found.([]any)
	switch {
	case err != nil:
		return nil, err
	case !ok:
		return "The find result is not well formatted. An error appears; cannot update.", nil
	case len(list) == 0:
		return "Did not find any result. You should try an insert before.", nil
	case len(list) > 1:
		return "Too many results. Please try to be more specific.", nil
	}
	v, err := m.run(ctx, a.login(), a.Database, a.Database,
		"return db.getCollection(input.name).updateOne(input.query, { $set: input.fields }).modifiedCount;",
		"name", a.Collection, "query", query, "fields", fields)
	return failed(data.Str(v)+" objects updated", err)
}

type findArgs struct {
	Collection string
	Query      any `default:"None"`
	databaseArgs
}

// queries returns queries: one, or each of a list.
func queries(v any) ([]any, error) {
	v, err := parsed(v)
	if list, ok := v.([]any); ok || err != nil {
		return list, err
	}
	if v == nil {
		v = &data.Map{}
	}
	return []any{v}, nil
}

// find returns the documents of a collection that fit a query, or one of a list of queries.
//
// CLI Example:
//
//	salt '*' mongodb.find mycollection '{"foo": "FOO"}' <user> <password> <host> <port> <database>
func (m *module) find(ctx context.Context, a findArgs) (any, error) {
	list, err := queries(a.Query)
	if err != nil {
		return err.Error(), nil
	}
	return failed(m.run(ctx, a.login(), a.Database, a.Database, `var all = [];
    input.queries.forEach(function (q) { all = all.concat(db.getCollection(input.name).find(q).toArray()); });
    return all;`, "name", a.Collection, "queries", list))
}

type removeArgs struct {
	Collection string
	Query      any `default:"None"`
	server
	Database string `default:"'admin'"`
	W        int64  `name:"w" default:"1"`
	Authdb   any    `default:"None"`
}

// remove removes up to w documents of a collection for a query, or for each of a list of queries, and
// returns a text.
//
// CLI Example:
//
//	salt '*' mongodb.remove mycollection '[{"foo": "FOO"}]' <user> <password> <host> <port> <database>
func (m *module) remove(ctx context.Context, a removeArgs) (any, error) {
	list, err := queries(a.Query)
	if err != nil {
		return err.Error(), nil
	}
	v, err := m.run(ctx, login{a.User, a.Password, a.Host, a.Port, a.Authdb}, a.Database, a.Database, `var n = 0;
    input.queries.forEach(function (q) {
      for (var i = 0; i < input.w; i++) { n += db.getCollection(input.name).deleteOne(q).deletedCount; }
    });
    return n;`, "name", a.Collection, "queries", list, "w", a.W)
	if count, ok := v.(*data.Map); ok {
		v = count.Value("$numberInt")
	}
	return failed(fmt.Sprint(data.Str(v), " objects removed"), err)
}
