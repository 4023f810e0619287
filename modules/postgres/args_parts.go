package postgres

type tablespaceListArgs = session

type tablespaceExistsArgs struct {
	Name string
	session
}

type tablespaceCreateArgs struct {
	Name     string
	Location string
	Options  any `default:"None"`
	Owner    any `default:"None"`
	session
}

type tablespaceAlterArgs struct {
	Name string
	login
	NewName     any `default:"None"`
	NewOwner    any `default:"None"`
	SetOption   any `default:"None"`
	ResetOption any `default:"None"`
	Runas       any `default:"None"`
}

func (a tablespaceAlterArgs) at() target { return a.as(a.Runas) }

type tablespaceRemoveArgs struct {
	Name string
	session
}

type schemaCreateArgs struct {
	Dbname     string
	Name       string
	Owner      any `default:"None"`
	User       any `default:"None"`
	DBUser     any `name:"db_user" default:"None"`
	DBPassword any `name:"db_password" default:"None"`
	DBHost     any `name:"db_host" default:"None"`
	DBPort     any `name:"db_port" default:"None"`
}

func (a schemaCreateArgs) at() target {
	return target{a.DBUser, a.DBHost, a.DBPort, a.Dbname, a.DBPassword, a.User}
}

type schemaRemoveArgs struct {
	Dbname     string
	Name       string
	User       any `default:"None"`
	DBUser     any `name:"db_user" default:"None"`
	DBPassword any `name:"db_password" default:"None"`
	DBHost     any `name:"db_host" default:"None"`
	DBPort     any `name:"db_port" default:"None"`
}

func (a schemaRemoveArgs) at() target {
	return target{a.DBUser, a.DBHost, a.DBPort, a.Dbname, a.DBPassword, a.User}
}

type schemaExistsArgs struct {
	Dbname     string
	Name       string
	User       any `default:"None"`
	DBUser     any `name:"db_user" default:"None"`
	DBPassword any `name:"db_password" default:"None"`
	DBHost     any `name:"db_host" default:"None"`
	DBPort     any `name:"db_port" default:"None"`
}

func (a schemaExistsArgs) at() target {
	return target{a.DBUser, a.DBHost, a.DBPort, a.Dbname, a.DBPassword, a.User}
}

type schemaGetArgs struct {
	Dbname     string
	Name       string
	User       any `default:"None"`
	DBUser     any `name:"db_user" default:"None"`
	DBPassword any `name:"db_password" default:"None"`
	DBHost     any `name:"db_host" default:"None"`
	DBPort     any `name:"db_port" default:"None"`
}

func (a schemaGetArgs) at() target {
	return target{a.DBUser, a.DBHost, a.DBPort, a.Dbname, a.DBPassword, a.User}
}

type schemaListArgs struct {
	Dbname     string
	User       any `default:"None"`
	DBUser     any `name:"db_user" default:"None"`
	DBPassword any `name:"db_password" default:"None"`
	DBHost     any `name:"db_host" default:"None"`
	DBPort     any `name:"db_port" default:"None"`
}

func (a schemaListArgs) at() target {
	return target{a.DBUser, a.DBHost, a.DBPort, a.Dbname, a.DBPassword, a.User}
}

type languageListArgs struct {
	MaintenanceDB string `name:"maintenance_db"`
	User          any    `default:"None"`
	Host          any    `default:"None"`
	Port          any    `default:"None"`
	Password      any    `default:"None"`
	Runas         any    `default:"None"`
}

func (a languageListArgs) at() target {
	return target{a.User, a.Host, a.Port, a.MaintenanceDB, a.Password, a.Runas}
}

type languageExistsArgs struct {
	Name          string
	MaintenanceDB string `name:"maintenance_db"`
	User          any    `default:"None"`
	Host          any    `default:"None"`
	Port          any    `default:"None"`
	Password      any    `default:"None"`
	Runas         any    `default:"None"`
}

func (a languageExistsArgs) at() target {
	return target{a.User, a.Host, a.Port, a.MaintenanceDB, a.Password, a.Runas}
}

type languageCreateArgs struct {
	Name          string
	MaintenanceDB string `name:"maintenance_db"`
	User          any    `default:"None"`
	Host          any    `default:"None"`
	Port          any    `default:"None"`
	Password      any    `default:"None"`
	Runas         any    `default:"None"`
}

func (a languageCreateArgs) at() target {
	return target{a.User, a.Host, a.Port, a.MaintenanceDB, a.Password, a.Runas}
}

type languageRemoveArgs struct {
	Name          string
	MaintenanceDB string `name:"maintenance_db"`
	User          any    `default:"None"`
	Host          any    `default:"None"`
	Port          any    `default:"None"`
	Password      any    `default:"None"`
	Runas         any    `default:"None"`
}

func (a languageRemoveArgs) at() target {
	return target{a.User, a.Host, a.Port, a.MaintenanceDB, a.Password, a.Runas}
}

type datadirInitArgs struct {
	Name      string
	Auth      any  `default:"'password'"`
	User      any  `default:"None"`
	Password  any  `default:"None"`
	Encoding  any  `default:"'UTF8'"`
	Locale    any  `default:"None"`
	Waldir    any  `default:"None"`
	Checksums bool `default:"False"`
	Runas     any  `default:"None"`
}

type datadirExistsArgs struct {
	Name string
}
