package fiberonce

import (
	"bytes"
	"context"
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"

	"github.com/gofiber/fiber/v3"
	"github.com/valyala/fasthttp"

	"github.com/onceward/onceward/httponce"
)

// newRequest copies what fasthttp read. Nothing of it is fasthttp's memory, except for the body, which the door reads
// before the handler returns.
func newRequest(ctx context.Context, c fiber.Ctx) (*http.Request, error) {
	in := c.Request()
	uri := string(in.RequestURI())
	u, err := url.ParseRequestURI(uri)
	if err != nil {
		return nil, err
	}
	r := blank.WithContext(ctx)
	r.Method, r.RequestURI, r.URL = string(in.Header.Method()), uri, u
	r.Proto, r.ProtoMajor, r.ProtoMinor = string(in.Header.Protocol()), 1, 1
	r.Host, r.RemoteAddr, r.TLS = string(in.Host()), c.RequestCtx().RemoteAddr().String(), c.RequestCtx().TLSConnectionState()
	r.Header = headerOf(&in.Header)
	if r.Body, r.ContentLength, err = bodyOf(in); err != nil {
		return nil, err
	}
	return r, nil
}

var blank http.Request

// names are those that most requests have, so that they are not made anew for each. Host is no field in net/http.
var names = map[string]string{
	"Host": "", "Accept": "Accept", "Accept-Encoding": "Accept-Encoding", "Authorization": "Authorization", "Connection": "Connection",
	"Content-Length": "Content-Length", "Content-Type": "Content-Type", "Cookie": "Cookie", "Origin": "Origin", "User-Agent": "User-Agent",
	httponce.HeaderKey: httponce.HeaderKey,
}

func headerOf(in *fasthttp.RequestHeader) http.Header {
	header := make(http.Header, in.Len())
	values := make([]string, 0, in.Len()) // in one place, as net/http has them
	for name, value := range in.All() {
		key, ok := names[string(name)]
		switch {
		case !ok:
			key = string(name)
		case key == "":
			continue
		}
		values = append(values, string(value))
		if first := len(values) - 1; header[key] == nil {
			header[key] = values[first:len(values):len(values)]
		} else {
			header[key] = append(header[key], values[first])
		}
	}
	return header
}

func bodyOf(in *fasthttp.Request) (io.ReadCloser, int64, error) {
	body := []byte(nil)
	switch boundary := in.Header.MultipartFormBoundary(); {
	case len(boundary) > 0 && len(in.Header.ContentEncoding()) == 0:
		form, err := in.MultipartForm()
		if err != nil {
			return nil, 0, err
		}
		if body, err = formBytes(form, string(boundary)); err != nil {
			return nil, 0, err
		}
	case in.IsBodyStream():
		return &stream{Reader: in.BodyStream()}, max(int64(in.Header.ContentLength()), -1), nil
	default:
		body = in.Body()
	}
	return &content{*bytes.NewReader(body)}, int64(len(body)), nil
}

// content is a body that is here.
type content struct{ bytes.Reader }

// Close implements io.Closer.
func (*content) Close() error { return nil }

// stream is a body that is read as it arrives.
type stream struct {
	io.Reader
	ended bool
}

// Read implements io.Reader. At its end fasthttp's would go on with the next request.
func (s *stream) Read(b []byte) (int, error) {
	if s.ended {
		return 0, io.EOF
	}
	n, err := s.Reader.Read(b)
	s.ended = err == io.EOF
	return n, err
}

// Close implements io.Closer.
func (s *stream) Close() error { return nil }

// leftBytesMax bounds the body that is read for nobody, so that the connection can be used again, as in net/http.
const leftBytesMax = 256 << 10

// drain reads what nobody has read of a body. fasthttp would take it for the connection's next request.
func drain(body io.ReadCloser, response *fasthttp.Response) {
	if s, ok := body.(*stream); ok {
		if _, err := io.CopyN(io.Discard, s, leftBytesMax); err != io.EOF {
			response.SetConnectionClose()
		}
	}
}

// formBytes writes a form that fasthttp has read. It keeps fields and files in maps, in no order.
func formBytes(form *multipart.Form, boundary string) ([]byte, error) {
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	if err := w.SetBoundary(boundary); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(form.Value)) {
		for _, value := range form.Value[name] {
			if err := w.WriteField(name, value); err != nil {
				return nil, err
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(form.File)) {
		for _, file := range form.File[name] {
			if err := writeFile(w, file); err != nil {
				return nil, err
			}
		}
	}
	err := w.Close()
	return body.Bytes(), err
}

func writeFile(w *multipart.Writer, file *multipart.FileHeader) error {
	content, err := file.Open()
	if err != nil {
		return err
	}
	defer content.Close()
	part, err := w.CreatePart(file.Header)
	if err != nil {
		return err
	}
	_, err = io.Copy(part, content)
	return err
}
