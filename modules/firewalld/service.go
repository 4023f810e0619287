package firewalld

import (
	"context"
	"slices"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

type serviceArgs struct{ Service string }

type serviceRestartArgs struct {
	Name    string
	Restart any `default:"True"`
}

type serviceZoneArgs struct {
	Service   string
	Zone      any `default:"None"`
	Permanent any `default:"True"`
}

type servicePortArgs struct {
	Service string
	Port    any
}

type serviceProtocolArgs struct{ Service, Protocol string }

// known refuses a service that does not exist.
func (m *module) known(ctx context.Context, service string) error {
	services, err := m.words(ctx, true, "--get-services")
	if err == nil && !slices.Contains(services, any(service)) {
		err = loader.Execution("The service does not exist.")
	}
	return err
}

// newService creates a service in the permanent configuration.
//
// restart
//
//	True, the default: reload the configuration then.
//
// CLI Example:
//
//	salt '*' firewalld.new_service my_service
func (m *module) newService(ctx context.Context, a serviceRestartArgs) (any, error) {
	return m.manage(ctx, "--new-service="+a.Name, a.Restart)
}

// deleteService removes a service in the permanent configuration.
//
// restart
//
//	True, the default: reload the configuration then.
//
// CLI Example:
//
//	salt '*' firewalld.delete_service my_service
func (m *module) deleteService(ctx context.Context, a serviceRestartArgs) (any, error) {
	return m.manage(ctx, "--delete-service="+a.Name, a.Restart)
}

// listServices returns the services that a zone allows. Default: the default zone.
//
// permanent
//
//	True, the default: the configuration that is kept. False: the current one.
//
// CLI Example:
//
//	salt '*' firewalld.list_services my_zone
func (m *module) listServices(ctx context.Context, a anyZoneArgs) (any, error) {
	return m.words(ctx, a.Permanent, a.with("--list-services")...)
}

// addService allows a service in a zone. Default: the default zone.
//
// permanent
//
//	True, the default: the configuration that is kept. False: the current one.
//
// CLI Example:
//
//	salt '*' firewalld.add_service ssh my_zone
func (m *module) addService(ctx context.Context, a serviceZoneArgs) (any, error) {
	return m.cmd(ctx, a.Permanent, anyZoneArgs{a.Zone, nil}.with("--add-service="+a.Service)...)
}

// addServicePort adds a port to a service. It fails if there is no such service.
//
// CLI Example:
//
//	salt '*' firewalld.add_service_port zone 80
func (m *module) addServicePort(ctx context.Context, a servicePortArgs) (any, error) {
	if err := m.known(ctx, a.Service); err != nil {
		return nil, err
	}
	return m.cmd(ctx, false, "--permanent", "--service="+a.Service, "--add-port="+data.Str(a.Port))
}

// addServiceProtocol adds a protocol to a service.
//
// CLI Example:
//
//	salt '*' firewalld.add_service_protocol zone ssh
func (m *module) addServiceProtocol(ctx context.Context, a serviceProtocolArgs) (any, error) {
	return m.cmd(ctx, false, "--permanent", "--service="+a.Service, "--add-protocol="+a.Protocol)
}

// removeService stops allowing a service in a zone. Default: the default zone.
//
// permanent
//
//	True, the default: the configuration that is kept. False: the current one.
//
// CLI Example:
//
//	salt '*' firewalld.remove_service ssh my_zone
func (m *module) removeService(ctx context.Context, a serviceZoneArgs) (any, error) {
	return m.cmd(ctx, a.Permanent, anyZoneArgs{a.Zone, nil}.with("--remove-service="+a.Service)...)
}

// removeServicePort removes a port from a service. It fails if there is no such service.
//
// CLI Example:
//
//	salt '*' firewalld.remove_service_port zone 80
func (m *module) removeServicePort(ctx context.Context, a servicePortArgs) (any, error) {
	if err := m.known(ctx, a.Service); err != nil {
		return nil, err
	}
	return m.cmd(ctx, false, "--permanent", "--service="+a.Service, "--remove-port="+data.Str(a.Port))
}

// removeServiceProtocol removes a protocol from a service.
//
// CLI Example:
//
//	salt '*' firewalld.remove_service_protocol zone ssh
func (m *module) removeServiceProtocol(ctx context.Context, a serviceProtocolArgs) (any, error) {
	return m.cmd(ctx, false, "--permanent", "--service="+a.Service, "--remove-protocol="+a.Protocol)
}

// getServicePorts returns the ports of a service.
//
// CLI Example:
//
//	salt '*' firewalld.get_service_ports zone
func (m *module) getServicePorts(ctx context.Context, a serviceArgs) (any, error) {
	return m.words(ctx, false, "--permanent", "--service="+a.Service, "--get-ports")
}

// getServiceProtocols returns the protocols of a service.
//
// CLI Example:
//
//	salt '*' firewalld.get_service_protocols zone
func (m *module) getServiceProtocols(ctx context.Context, a serviceArgs) (any, error) {
	return m.words(ctx, false, "--permanent", "--service="+a.Service, "--get-protocols")
}
