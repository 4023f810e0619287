package postgres

type versionArgs struct {
	User          any `default:"None"`
	Host          any `default:"None"`
	Port          any `default:"None"`
	MaintenanceDB any `name:"maintenance_db" default:"None"`
	Password      any `default:"None"`
	Runas         any `default:"None"`
}

func (a versionArgs) at() target {
	return target{a.User, a.Host, a.Port, a.MaintenanceDB, a.Password, a.Runas}
}

type psqlQueryArgs struct {
	Query         string
	User          any `default:"None"`
	Host          any `default:"None"`
	Port          any `default:"None"`
	MaintenanceDB any `name:"maintenance_db" default:"None"`
	Password      any `default:"None"`
	Runas         any `default:"None"`
	Write         any `default:"False"`
}

func (a psqlQueryArgs) at() target {
	return target{a.User, a.Host, a.Port, a.MaintenanceDB, a.Password, a.Runas}
}

type dbAlterArgs struct {
	Name          string
	User          any `default:"None"`
	Host          any `default:"None"`
	Port          any `default:"None"`
	MaintenanceDB any `name:"maintenance_db" default:"None"`
	Password      any `default:"None"`
	Tablespace    any `default:"None"`
	Owner         any `default:"None"`
	OwnerRecurse  any `default:"False"`
	Runas         any `default:"None"`
}

func (a dbAlterArgs) at() target {
	return target{a.User, a.Host, a.Port, a.MaintenanceDB, a.Password, a.Runas}
}

type dbCreateArgs struct {
	Name          string
	User          any `default:"None"`
	Host          any `default:"None"`
	Port          any `default:"None"`
	MaintenanceDB any `name:"maintenance_db" default:"None"`
	Password      any `default:"None"`
	Tablespace    any `default:"None"`
	Encoding      any `default:"None"`
	LcCollate     any `default:"None"`
	LcCtype       any `default:"None"`
	Owner         any `default:"None"`
	Template      any `default:"None"`
	Runas         any `default:"None"`
}

func (a dbCreateArgs) at() target {
	return target{a.User, a.Host, a.Port, a.MaintenanceDB, a.Password, a.Runas}
}

type dbExistsArgs struct {
	Name          string
	User          any `default:"None"`
	Host          any `default:"None"`
	Port          any `default:"None"`
	MaintenanceDB any `name:"maintenance_db" default:"None"`
	Password      any `default:"None"`
	Runas         any `default:"None"`
}

func (a dbExistsArgs) at() target {
	return target{a.User, a.Host, a.Port, a.MaintenanceDB, a.Password, a.Runas}
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
	Username      string
	User          any `default:"None"`
	Host          any `default:"None"`
	Port          any `default:"None"`
	MaintenanceDB any `name:"maintenance_db" default:"None"`
	Password      any `default:"None"`
	Createdb      any `default:"None"`
	Createroles   any `default:"None"`
	Inherit       any `default:"None"`
	Login         any `default:"None"`
	Connlimit     any `default:"None"`
	Encrypted     any `default:"None"`
	Superuser     any `default:"None"`
	Replication   any `default:"None"`
	Rolepassword  any `default:"None"`
	ValidUntil    any `default:"None"`
	Groups        any `default:"None"`
	Runas         any `default:"None"`
}

func (a userCreateArgs) at() target {
	return target{a.User, a.Host, a.Port, a.MaintenanceDB, a.Password, a.Runas}
}

type userExistsArgs = dbExistsArgs

type userListArgs struct {
	User           any `default:"None"`
	Host           any `default:"None"`
	Port           any `default:"None"`
	MaintenanceDB  any `name:"maintenance_db" default:"None"`
	Password       any `default:"None"`
	Runas          any `default:"None"`
	ReturnPassword any `default:"False"`
}

func (a userListArgs) at() target {
	return target{a.User, a.Host, a.Port, a.MaintenanceDB, a.Password, a.Runas}
}

type userRemoveArgs struct {
	Username      string
	User          any `default:"None"`
	Host          any `default:"None"`
	Port          any `default:"None"`
	MaintenanceDB any `name:"maintenance_db" default:"None"`
	Password      any `default:"None"`
	Runas         any `default:"None"`
}

func (a userRemoveArgs) at() target {
	return target{a.User, a.Host, a.Port, a.MaintenanceDB, a.Password, a.Runas}
}

type userUpdateArgs struct {
	Username      string
	User          any `default:"None"`
	Host          any `default:"None"`
	Port          any `default:"None"`
	MaintenanceDB any `name:"maintenance_db" default:"None"`
	Password      any `default:"None"`
	Createdb      any `default:"None"`
	Createroles   any `default:"None"`
	Encrypted     any `default:"None"`
	Superuser     any `default:"None"`
	Inherit       any `default:"None"`
	Login         any `default:"None"`
	Connlimit     any `default:"None"`
	Replication   any `default:"None"`
	Rolepassword  any `default:"None"`
	ValidUntil    any `default:"None"`
	Groups        any `default:"None"`
	Runas         any `default:"None"`
}

func (a userUpdateArgs) at() target {
	return target{a.User, a.Host, a.Port, a.MaintenanceDB, a.Password, a.Runas}
}

type roleGetArgs struct {
	Name           string
	User           any `default:"None"`
	Host           any `default:"None"`
	Port           any `default:"None"`
	MaintenanceDB  any `name:"maintenance_db" default:"None"`
	Password       any `default:"None"`
	Runas          any `default:"None"`
	ReturnPassword any `default:"False"`
}

func (a roleGetArgs) at() target {
	return target{a.User, a.Host, a.Port, a.MaintenanceDB, a.Password, a.Runas}
}

type groupCreateArgs struct {
	Groupname     string
	User          any `default:"None"`
	Host          any `default:"None"`
	Port          any `default:"None"`
	MaintenanceDB any `name:"maintenance_db" default:"None"`
	Password      any `default:"None"`
	Createdb      any `default:"None"`
	Createroles   any `default:"None"`
	Encrypted     any `default:"None"`
	Login         any `default:"None"`
	Inherit       any `default:"None"`
	Superuser     any `default:"None"`
	Replication   any `default:"None"`
	Rolepassword  any `default:"None"`
	Groups        any `default:"None"`
	Runas         any `default:"None"`
}

func (a groupCreateArgs) at() target {
	return target{a.User, a.Host, a.Port, a.MaintenanceDB, a.Password, a.Runas}
}

type groupRemoveArgs struct {
	Groupname     string
	User          any `default:"None"`
	Host          any `default:"None"`
	Port          any `default:"None"`
	MaintenanceDB any `name:"maintenance_db" default:"None"`
	Password      any `default:"None"`
	Runas         any `default:"None"`
}

func (a groupRemoveArgs) at() target {
	return target{a.User, a.Host, a.Port, a.MaintenanceDB, a.Password, a.Runas}
}

type groupUpdateArgs struct {
	Groupname     string
	User          any `default:"None"`
	Host          any `default:"None"`
	Port          any `default:"None"`
	MaintenanceDB any `name:"maintenance_db" default:"None"`
	Password      any `default:"None"`
	Createdb      any `default:"None"`
	Createroles   any `default:"None"`
	Encrypted     any `default:"None"`
	Inherit       any `default:"None"`
	Login         any `default:"None"`
	Superuser     any `default:"None"`
	Replication   any `default:"None"`
	Rolepassword  any `default:"None"`
	Groups        any `default:"None"`
	Runas         any `default:"None"`
}

func (a groupUpdateArgs) at() target {
	return target{a.User, a.Host, a.Port, a.MaintenanceDB, a.Password, a.Runas}
}

type availableExtensionsArgs = versionArgs

type installedExtensionsArgs = versionArgs

type getAvailableExtensionArgs = dbExistsArgs

type getInstalledExtensionArgs = dbExistsArgs

type isAvailableExtensionArgs = dbExistsArgs

type isInstalledExtensionArgs = dbExistsArgs

type createMetadataArgs struct {
	Name          string
	ExtVersion    any `default:"None"`
	Schema        any `default:"None"`
	User          any `default:"None"`
	Host          any `default:"None"`
	Port          any `default:"None"`
	MaintenanceDB any `name:"maintenance_db" default:"None"`
	Password      any `default:"None"`
	Runas         any `default:"None"`
}

func (a createMetadataArgs) at() target {
	return target{a.User, a.Host, a.Port, a.MaintenanceDB, a.Password, a.Runas}
}

type createExtensionArgs struct {
	Name          string
	IfNotExists   any `default:"None"`
	Schema        any `default:"None"`
	ExtVersion    any `default:"None"`
	FromVersion   any `default:"None"`
	User          any `default:"None"`
	Host          any `default:"None"`
	Port          any `default:"None"`
	MaintenanceDB any `name:"maintenance_db" default:"None"`
	Password      any `default:"None"`
	Runas         any `default:"None"`
}

func (a createExtensionArgs) at() target {
	return target{a.User, a.Host, a.Port, a.MaintenanceDB, a.Password, a.Runas}
}

type dropExtensionArgs struct {
	Name          string
	IfExists      any `default:"None"`
	Restrict      any `default:"None"`
	Cascade       any `default:"None"`
	User          any `default:"None"`
	Host          any `default:"None"`
	Port          any `default:"None"`
	MaintenanceDB any `name:"maintenance_db" default:"None"`
	Password      any `default:"None"`
	Runas         any `default:"None"`
}

func (a dropExtensionArgs) at() target {
	return target{a.User, a.Host, a.Port, a.MaintenanceDB, a.Password, a.Runas}
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
