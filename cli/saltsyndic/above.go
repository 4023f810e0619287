package saltsyndic

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
)

// lookUpLimit is how long a start may wait for name servers. A name that is not found in time is
// looked up again when the syndic connects.
const lookUpLimit = 2 * time.Second

// checkAbove reports masters above that cannot be: texts that are no address, and the master of this
// host itself. It warns if no master is named.
func checkAbove(ctx context.Context, cfg *config.Syndic, report *config.Report) error {
	list, isList := cfg.Master.SyndicMaster.([]any)
	if !isList {
		list = []any{cfg.Master.SyndicMaster}
	}
	if len(list) == 0 {
		return &config.Finding{Text: "names no master", Suggestion: "write syndic_master: ADDRESS"}
	}
	var errs []error
	if report.At("syndic_master").File == "" {
		errs = append(errs, &config.Finding{Doubt: true,
			Text: fmt.Sprintf("is not set, so that the master above is %s, which is Salt's default",
				data.Str(list[0])),
			Suggestion: "write syndic_master: ADDRESS"})
	}
	for i, v := range list {
		if err := checkAddress(ctx, data.Str(v), cfg); err != nil {
			if isList {
				err = config.Below(config.Entry{Index: i, Value: v}, err)
			}
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// checkAddress reports an address of a master above that cannot be.
func checkAddress(ctx context.Context, text string, cfg *config.Syndic) error {
	port := cfg.Master.SyndicMasterPort
	if port == 0 {
		port = cfg.Minion.MasterPort
	}
	host, port, err := config.ParseAddress(text, port, cfg.Minion.MasterURIFormat == "ip_only")
	if err != nil {
		return &config.Finding{Text: err.Error(), Suggestion: "write HOST, HOST:PORT or '[IPV6]:PORT'"}
	}
	if port == cfg.Master.RetPort && isHere(ctx, host, cfg.Master.Interface) {
		return &config.Finding{
			Text: fmt.Sprintf("%s with port %d is the master of this host itself, which would get its own jobs again",
				host, port),
			Suggestion: "name the master above"}
	}
	return nil
}

// isHere reports whether a master with this option interface listens at an address of host.
func isHere(ctx context.Context, host, listens string) bool {
	ctx, cancel := context.WithTimeout(ctx, lookUpLimit)
	defer cancel()
	at, err := netip.ParseAddr(strings.Trim(listens, "[]"))
	if err != nil {
		return false
	}
	for _, a := range lookUp(ctx, host) {
		if a == at.Unmap() || at.IsUnspecified() && isLocal(a) {
			return true
		}
	}
	return false
}

// lookUp returns the addresses of a host, none if there are none in time.
func lookUp(ctx context.Context, host string) []netip.Addr {
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a.Unmap()}
	}
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil
	}
	for i, a := range found {
		found[i] = a.Unmap()
	}
	return found
}

// isLocal reports whether this host has the address.
func isLocal(a netip.Addr) bool {
	if a.IsLoopback() || a.IsUnspecified() {
		return true
	}
	own, err := net.InterfaceAddrs()
	if err != nil {
		return false
	}
	return slices.ContainsFunc(own, func(n net.Addr) bool {
		p, err := netip.ParsePrefix(n.String())
		return err == nil && p.Addr() == a
	})
}
