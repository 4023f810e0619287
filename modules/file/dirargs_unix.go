//go:build unix

package file

type mkdirArgs struct {
	DirPath string
	User    any `default:"None"`
	Group   any `default:"None"`
	Mode    any `default:"None"`
}

func (a mkdirArgs) owner() owner { return owner{user: a.User, group: a.Group, mode: a.Mode} }

type makedirsArgs struct {
	Path  string
	User  any `default:"None"`
	Group any `default:"None"`
	Mode  any `default:"None"`
}

func (a makedirsArgs) owner() owner { return owner{user: a.User, group: a.Group, mode: a.Mode} }

type makedirsPermsArgs struct {
	Name  string
	User  any `default:"None"`
	Group any `default:"None"`
	Mode  any `default:"'0755'"`
}

func (a makedirsPermsArgs) owner() owner { return owner{user: a.User, group: a.Group, mode: a.Mode} }

func (a mkdirArgs) dir() string { return a.DirPath }

func (a makedirsPermsArgs) dir() string { return a.Name }
