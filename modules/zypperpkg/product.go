package zypperpkg

import (
	"bufio"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

type productsArgs struct {
	All     any `default:"False"`
	Refresh any `default:"False"`
	Root    any `default:"None"`
}

// listProducts returns the installed SUSE products with zypper's details of each. eol and eol_t are
// the end of its life.
//
// all : False
//
//	True: also products in the repositories.
//
// refresh : False
//
//	True: refresh the repositories first.
//
// CLI Example:
//
//	salt '*' pkg.list_products all=True
func (m *module) listProducts(ctx context.Context, a productsArgs) (any, error) {
	if data.Truth(a.Refresh) {
		if err := m.maybeRefresh(ctx, true, a.Root); err != nil {
			return nil, err
		}
	}
	list := []any{}
	products, err := m.products(ctx, data.Truth(a.All), a.Root)
	for _, p := range products {
		list = append(list, p)
	}
	return list, err
}

func (m *module) products(ctx context.Context, all bool, root any) ([]*data.Map, error) {
	args := []any{"--disable-repositories", "products", "-i"}
	if all {
		args = []any{"products"}
	}
	nodes, err := m.all(ctx, call{root: root, reading: true}, args...)
	if err != nil {
		return nil, err
	}
	var list []*data.Map
	for _, group := range groups(nodes, "product") {
		p, err := describedProduct(group)
		if err != nil {
			return nil, err
		}
		if err := m.oem(p, root); err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	return list, nil
}

// groups returns each element with a name, together with the elements after it up to the next one.
func groups(nodes []node, name string) (list [][]node) {
	for i, n := range nodes {
		if n.name == name {
			list = append(list, nodes[i:i+1:i+1])
		} else if len(list) > 0 {
			list[len(list)-1] = append(list[len(list)-1], n)
		}
	}
	return list
}

// describedProduct returns zypper's details of a product, from an element and those inside it.
func describedProduct(group []node) (*data.Map, error) {
	p := &data.Map{}
	for k, v := range group[0].attrs.All() {
		switch {
		case k == "isbase" || k == "installed":
			p.Set(k, v == "true" || v == "1")
		case v != "":
			p.Set(k, v)
		}
	}
	description := ""
	for _, n := range group[1:] {
		switch n.name {
		case "endoflife":
			end := int64(0)
			if text := n.attrs.Text("time_t"); text != "" {
				var err error
				if end, err = strconv.ParseInt(text, 10, 64); err != nil {
					return nil, loader.Execution("parse zypper's details of product %s: %w",
						p.Text("name"), err)
				}
			}
			p.Set("eol", n.attrs.Text("text"))
			p.Set("eol_t", end)
		case "description":
			description = n.text
		}
	}
	lines := strings.Split(description, "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	p.Set("description", strings.Join(lines, " "))
	return p, nil
}

// oem sets the release that the manufacturer of the host stored for the product line.
func (m *module) oem(p *data.Map, root any) error {
	line := p.Text("productline")
	if line == "" || strings.ContainsRune(line, '/') {
		return nil
	}
	f, err := os.Open(m.path(root, filepath.Join("/var/lib/suseRegister/OEM", line)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return loader.Execution("read the release of a product: %w", err)
	}
	defer f.Close()
	first, err := bufio.NewReader(io.LimitReader(f, 4096)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return loader.Execution("read the release of a product: %w", err)
	}
	if release := strings.TrimSpace(first); release != "" {
		p.Set("release", release)
	}
	return nil
}
