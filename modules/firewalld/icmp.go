package firewalld

import (
	"context"
	"slices"
)

type icmpArgs struct {
	Zone, Icmp string
	Permanent  any `default:"True"`
}

// icmp blocks or allows a type. It returns success if that is the case already.
func (m *module) icmp(ctx context.Context, a icmpArgs, option string, block bool) (any, error) {
	types, err := m.words(ctx, a.Permanent, "--get-icmptypes")
	if err != nil {
		return nil, err
	}
	if !slices.Contains(types, any(a.Icmp)) {
		m.env.Log.Errorf("Invalid ICMP type")
		return false, nil
	}
	blocked, err := m.words(ctx, a.Permanent, "--zone="+a.Zone, "--list-icmp-blocks")
	if err != nil {
		return nil, err
	}
	if slices.Contains(blocked, any(a.Icmp)) == block {
		return "success", nil
	}
	return m.cmd(ctx, a.Permanent, "--zone="+a.Zone, option+a.Icmp)
}

// blockIcmp blocks messages of an ICMP type in a zone. It returns False for an unknown type.
//
// permanent
//
//	True, the default: the configuration that is kept. False: the current one.
//
// CLI Example:
//
//	salt '*' firewalld.block_icmp zone echo-reply
func (m *module) blockIcmp(ctx context.Context, a icmpArgs) (any, error) {
	return m.icmp(ctx, a, "--add-icmp-block=", true)
}

// allowIcmp allows messages of an ICMP type in a zone. It returns False for an unknown type.
//
// permanent
//
//	True, the default: the configuration that is kept. False: the current one.
//
// CLI Example:
//
//	salt '*' firewalld.allow_icmp zone echo-reply
func (m *module) allowIcmp(ctx context.Context, a icmpArgs) (any, error) {
	return m.icmp(ctx, a, "--remove-icmp-block=", false)
}

// listIcmpBlock returns the ICMP types that a zone blocks.
//
// permanent
//
//	True, the default: the configuration that is kept. False: the current one.
//
// CLI Example:
//
//	salt '*' firewalld.list_icmp_block zone
func (m *module) listIcmpBlock(ctx context.Context, a zoneArgs) (any, error) {
	return m.words(ctx, a.Permanent, "--zone="+a.Zone, "--list-icmp-blocks")
}
