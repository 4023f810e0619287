package console

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"mime"
	"net/http"
	"path"
)

//go:embed assets/*
var assetFiles embed.FS

// assets are the style sheet, the script and the icon. Their addresses change with their contents, so
// that browsers keep them.
type assets struct {
	files map[string]asset  // by name and by the name in addresses
	href  map[string]string // address by name
	root  string            // of the console
}

type asset struct {
	body []byte
	kind string
}

func readAssets(root string) (*assets, error) {
	list, err := assetFiles.ReadDir("assets")
	if err != nil {
		return nil, err
	}
	a := &assets{files: map[string]asset{}, href: map[string]string{}, root: root}
	for _, f := range list {
		body, err := assetFiles.ReadFile(path.Join("assets", f.Name()))
		if err != nil {
			return nil, fmt.Errorf("read %s of the console: %w", f.Name(), err)
		}
		sum := sha256.Sum256(body)
		name := hex.EncodeToString(sum[:6]) + "-" + f.Name()
		a.files[name] = asset{body, mime.TypeByExtension(path.Ext(f.Name()))}
		a.href[f.Name()] = root + "/assets/" + name
	}
	return a, nil
}

// ServeHTTP answers with a file.
func (a *assets) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f, ok := a.files[r.PathValue("name")]
	if !ok {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	h.Set("Content-Type", f.kind)
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	h.Set("X-Content-Type-Options", "nosniff")
	_, _ = w.Write(f.body) // the browser may have gone
}
