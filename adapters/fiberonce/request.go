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
	r := &http.Request{
		Method: string(in.Header.Method()), RequestURI: uri, URL: u,
		Proto: string(in.Header.Protocol()), ProtoMajor: 1, ProtoMinor: 1,
		Host: string(in.Host()), RemoteAddr: c.RequestCtx().RemoteAddr().String(), TLS: c.RequestCtx().TLSConnectionState(),
		Header: make(http.Header, in.Header.Len()),
	}
	for name, value := range in.Header.All() {
		if key := string(name); key != "Host" {
			r.Header.Add(key, string(value))
		}
	}
	if r.Body, r.ContentLength, err = bodyOf(in); err != nil {
		return nil, err
	}
	return r.WithContext(ctx), nil
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
	return io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
}

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
