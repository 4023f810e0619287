package file

import "github.com/brineproject/brine/data"

type mkdirArgs struct {
	Path        string
	Owner       any       `default:"None"`
	GrantPerms  *data.Map `default:"None"`
	DenyPerms   *data.Map `default:"None"`
	Inheritance any       `default:"True"`
	Reset       bool      `default:"False"`
}

func (a mkdirArgs) owner() owner {
	return owner{user: a.Owner, access: accessList{a.GrantPerms, a.DenyPerms, a.Inheritance, a.Reset}}
}

type makedirsArgs struct {
	Path        string
	Owner       any       `default:"None"`
	GrantPerms  *data.Map `default:"None"`
	DenyPerms   *data.Map `default:"None"`
	Inheritance any       `default:"True"`
	Reset       bool      `default:"False"`
}

func (a makedirsArgs) owner() owner { return mkdirArgs(a).owner() }

type makedirsPermsArgs struct {
	Path        string
	Owner       any       `default:"None"`
	GrantPerms  *data.Map `default:"None"`
	DenyPerms   *data.Map `default:"None"`
	Inheritance any       `default:"True"`
	Reset       bool      `default:"True"`
}

func (a makedirsPermsArgs) owner() owner { return mkdirArgs(a).owner() }

func (a mkdirArgs) dir() string { return a.Path }

func (a makedirsPermsArgs) dir() string { return a.Path }
