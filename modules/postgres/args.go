package postgres

// A login holds the connection settings of a server.
type login struct {
	User          any `default:"None"`
	Host          any `default:"None"`
	Port          any `default:"None"`
	MaintenanceDB any `name:"maintenance_db" default:"None"`
	Password      any `default:"None"`
}

// as returns the target for psql when it runs as the system user runas.
func (l login) as(runas any) target {
	return target{l.User, l.Host, l.Port, l.MaintenanceDB, l.Password, runas}
}

// A session is a login with the system user that psql runs as.
type session struct {
	login
	Runas any `default:"None"`
}

func (s session) at() target { return s.as(s.Runas) }

type versionArgs = session

type psqlQueryArgs struct {
	Query string
	session
	Write any `default:"False"`
}

type dbAlterArgs struct {
	Name string
	login
	Tablespace   any `default:"None"`
	Owner        any `default:"None"`
	OwnerRecurse any `default:"False"`
	Runas        any `default:"None"`
}

func (a dbAlterArgs) at() target { return a.as(a.Runas) }

type dbCreateArgs struct {
	Name string
	login
	Tablespace any `default:"None"`
	Encoding   any `default:"None"`
	LcCollate  any `default:"None"`
	LcCtype    any `default:"None"`
	Owner      any `default:"None"`
	Template   any `default:"None"`
	Runas      any `default:"None"`
}

func (a dbCreateArgs) at() target { return a.as(a.Runas) }

type dbExistsArgs struct {
	Name string
	session
}

type dbListArgs = versionArgs

type dbRemoveArgs = dbExistsArgs

type ownerToArgs struct {
	Dbname    string
	Ownername string
	User      any `default:"None"`
	Host      any `default:"None"`
	Port      any `default:"None"`
	Password  any `default:"None"`
	Runas     any `default:"None"`
}

func (a ownerToArgs) at() target {
	return target{a.User, a.Host, a.Port, a.Dbname, a.Password, a.Runas}
}

type userCreateArgs struct {
	Username string
	login
	Createdb     any `default:"None"`
	Createroles  any `default:"None"`
	Inherit      any `default:"None"`
	Login        any `default:"None"`
	Connlimit    any `default:"None"`
	Encrypted    any `default:"None"`
	Superuser    any `default:"None"`
	Replication  any `default:"None"`
	Rolepassword any `default:"None"`
	ValidUntil   any `default:"None"`
	Groups       any `default:"None"`
	Runas        any `default:"None"`
}

func (a userCreateArgs) at() target { return a.as(a.Runas) }

type userExistsArgs = dbExistsArgs

type userListArgs struct {
	session
	ReturnPassword any `default:"False"`
}

type userRemoveArgs struct {
	Username string
	session
}

type userUpdateArgs struct {
	Username string
	login
	Createdb     any `default:"None"`
	Createroles  any `default:"None"`
	Encrypted    any `default:"None"`
	Superuser    any `default:"None"`
	Inherit      any `default:"None"`
	Login        any `default:"None"`
	Connlimit    any `default:"None"`
	Replication  any `default:"None"`
	Rolepassword any `default:"None"`
	ValidUntil   any `default:"None"`
	Groups       any `default:"None"`
	Runas        any `default:"None"`
}

func (a userUpdateArgs) at() target { return a.as(a.Runas) }

type roleGetArgs struct {
	Name string
	session
	ReturnPassword any `default:"False"`
}

type groupCreateArgs struct {
	Groupname string
	login
	Createdb     any `default:"None"`
	Createroles  any `default:"None"`
	Encrypted    any `default:"None"`
	Login        any `default:"None"`
	Inherit      any `default:"None"`
	Superuser    any `default:"None"`
	Replication  any `default:"None"`
	Rolepassword any `default:"None"`
	Groups       any `default:"None"`
	Runas        any `default:"None"`
}

func (a groupCreateArgs) at() target { return a.as(a.Runas) }

type groupRemoveArgs struct {
	Groupname string
	session
}

type groupUpdateArgs struct {
	Groupname string
	login
	Createdb     any `default:"None"`
	Createroles  any `default:"None"`
	Encrypted    any `default:"None"`
	Inherit      any `default:"None"`
	Login        any `default:"None"`
	Superuser    any `default:"None"`
	Replication  any `default:"None"`
	Rolepassword any `default:"None"`
	Groups       any `default:"None"`
	Runas        any `default:"None"`
}

func (a groupUpdateArgs) at() target { return a.as(a.Runas) }

type availableExtensionsArgs = versionArgs

type installedExtensionsArgs = versionArgs

type getAvailableExtensionArgs = dbExistsArgs

type getInstalledExtensionArgs = dbExistsArgs

type isAvailableExtensionArgs = dbExistsArgs

type isInstalledExtensionArgs = dbExistsArgs

type createMetadataArgs struct {
	Name       string
	ExtVersion any `default:"None"`
	Schema     any `default:"None"`
	session
}

type createExtensionArgs struct {
	Name        string
	IfNotExists any `default:"None"`
	Schema      any `default:"None"`
	ExtVersion  any `default:"None"`
	FromVersion any `default:"None"`
	session
}

type dropExtensionArgs struct {
	Name     string
	IfExists any `default:"None"`
	Restrict any `default:"None"`
	Cascade  any `default:"None"`
	session
}

type privilegesListArgs struct {
	Name          string
	ObjectType    string
	Prepend       any `default:"'public'"`
	MaintenanceDB any `name:"maintenance_db" default:"None"`
	User          any `default:"None"`
	Host          any `default:"None"`
	Port          any `default:"None"`
	Password      any `default:"None"`
	Runas         any `default:"None"`
}

func (a privilegesListArgs) at() target {
	return target{a.User, a.Host, a.Port, a.MaintenanceDB, a.Password, a.Runas}
}

type privilegesGrantArgs struct {
	Name          string
	ObjectName    string
	ObjectType    string
	Privileges    any `default:"None"`
	GrantOption   any `default:"None"`
	Prepend       any `default:"'public'"`
	MaintenanceDB any `name:"maintenance_db" default:"None"`
	User          any `default:"None"`
	Host          any `default:"None"`
	Port          any `default:"None"`
	Password      any `default:"None"`
	Runas         any `default:"None"`
}

func (a privilegesGrantArgs) at() target {
	return target{a.User, a.Host, a.Port, a.MaintenanceDB, a.Password, a.Runas}
}

type privilegesRevokeArgs struct {
	Name          string
	ObjectName    string
	ObjectType    string
	Privileges    any `default:"None"`
	Prepend       any `default:"'public'"`
	MaintenanceDB any `name:"maintenance_db" default:"None"`
	User          any `default:"None"`
	Host          any `default:"None"`
	Port          any `default:"None"`
	Password      any `default:"None"`
	Runas         any `default:"None"`
}

func (a privilegesRevokeArgs) at() target {
	return target{a.User, a.Host, a.Port, a.MaintenanceDB, a.Password, a.Runas}
}

type hasPrivilegesArgs = privilegesGrantArgs
