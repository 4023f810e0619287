package git

// runArgs are the arguments of all functions that run git.
type runArgs struct {
	User           any  `default:"None"`
	Password       any  `default:"None"`
	IgnoreRetcode  bool `default:"False"`
	OutputEncoding any  `default:"None"`
}

// repoArgs are the arguments of functions that need only a repository.
type repoArgs struct {
	Cwd any
	runArgs
}

// optionArgs are options of a command of git, and of git itself.
type optionArgs struct {
	Opts    any `default:"''"`
	GitOpts any `default:"''"`
}

// commandArgs are the last arguments of functions that pass options to a command.
type commandArgs struct {
	optionArgs
	runArgs
}

// remoteArgs are the last arguments of functions whose command connects to a remote.
type remoteArgs struct {
	optionArgs
	User           any    `default:"None"`
	Password       any    `default:"None"`
	Identity       any    `default:"None"`
	IgnoreRetcode  bool   `default:"False"`
	Saltenv        string `default:"'base'"`
	OutputEncoding any    `default:"None"`
}

// words returns the options of git and those of the command.
func (a optionArgs) words() (before, after []string, err error) {
	if before, err = options(a.GitOpts); err != nil {
		return nil, nil, err
	}
	after, err = options(a.Opts)
	return before, after, err
}

// command returns the words of a command with the options of git and of the command.
func (a optionArgs) command(name string) ([]string, error) {
	before, after, err := a.words()
	return with(before, []string{name}, after), err
}

func (m *module) of(a repoArgs) run { return m.in(a.Cwd, a.runArgs) }

// in returns a run in a repository.
func (m *module) in(cwd any, a runArgs) run {
	return m.at(cwd, a.User, a.Password, a.IgnoreRetcode, a.OutputEncoding)
}

// remote returns a run in a repository that connects to a remote.
func (m *module) remote(cwd any, a remoteArgs) run {
	r := m.at(cwd, a.User, a.Password, a.IgnoreRetcode, a.OutputEncoding)
	r.identity, r.saltenv = a.Identity, a.Saltenv
	return r
}

// at returns a run in a repository.
func (m *module) at(cwd, user, password any, quiet bool, encoding any) run {
	return run{cwd: m.absolute(cwd, user), user: user, password: password, quiet: quiet,
		encoding: encoding}
}
