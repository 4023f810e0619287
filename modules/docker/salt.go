package docker

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// needsSalt is the error of a function that runs a Salt of its own in a container.
func needsSalt(fun string) error {
	return loader.Execution("docker.%s is not supported: it brings a Salt in Python into the container. "+
		"Use docker.run with a salt-call that the image has.", fun)
}

type callArgs struct {
	Name     string
	Function any
	Args     []any     `args:"args"`
	Kwargs   *data.Map `kwargs:"kwargs"`
}

// call is rejected: it would run a function of Salt in a container, with a Salt in Python that it brings
// there. docker.run runs the salt-call of an image that has one.
//
// CLI Example:
//
//	salt myminion docker.run mycontainer 'salt-call --local test.ping'
func (m *module) call(context.Context, callArgs) (any, error) { return nil, needsSalt("call") }

type slsArgs struct {
	Name   string
	Mods   any       `default:"None"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

// apply is rejected as call is.
//
// CLI Example:
//
//	salt myminion docker.run mycontainer 'salt-call --local state.apply web'
func (m *module) apply(context.Context, slsArgs) (any, error) { return nil, needsSalt("apply") }

// sls is rejected as call is.
//
// CLI Example:
//
//	salt myminion docker.run mycontainer 'salt-call --local state.sls web'
func (m *module) sls(context.Context, slsArgs) (any, error) { return nil, needsSalt("sls") }

type highstateArgs struct {
	Name    string
	Saltenv any       `default:"'base'"`
	Kwargs  *data.Map `kwargs:"kwargs"`
}

// highstate is rejected as call is.
//
// CLI Example:
//
//	salt myminion docker.run mycontainer 'salt-call --local state.highstate'
func (m *module) highstate(context.Context, highstateArgs) (any, error) {
	return nil, needsSalt("highstate")
}

type slsBuildArgs struct {
	Repository string
	Tag        any       `default:"'latest'"`
	Base       any       `default:"'opensuse/python'"`
	Mods       any       `default:"None"`
	Dryrun     any       `default:"False"`
	Kwargs     *data.Map `kwargs:"kwargs"`
}

// slsBuild is rejected as call is. docker.build makes an image of a Dockerfile, whose steps may run
// salt-call.
//
// CLI Example:
//
//	salt myminion docker.build /srv/image repository=imgname tag=latest
func (m *module) slsBuild(context.Context, slsBuildArgs) (any, error) {
	return nil, needsSalt("sls_build")
}
