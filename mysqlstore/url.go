package mysqlstore

import (
	"errors"
	"net"
	"net/url"
	"strings"

	"github.com/go-sql-driver/mysql"
)

// portDefault is where MariaDB listens.
const portDefault = "3306"

var errURL = errors.New("mysqlstore: the database's URL is not valid: want mysql://user:password@host:port/name, and the driver's parameters behind a question mark")

// ParseURL makes the driver's configuration of mysql://user:password@host:port/name?parameter=value; the parameters are those
// of the driver's data source name (https://github.com/go-sql-driver/mysql#parameters). The port defaults to 3306,
// multiStatements and interpolateParams to true: with the first the store needs no round trip more than a bare transaction,
// with the second a statement with arguments takes one instead of two. Use it as
//
//	config, err := mysqlstore.ParseURL(url)
//	connector, err := mysql.NewConnector(config)
//	db := sql.OpenDB(connector)
//
// Errors do not quote the URL, which may hold a password.
func ParseURL(text string) (*mysql.Config, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "mysql" || u.Hostname() == "" || u.Fragment != "" {
		return nil, errURL
	}
	parameters := "multiStatements=true&interpolateParams=true"
	if u.RawQuery != "" {
		parameters += "&" + u.RawQuery // of one that is there twice the last counts
	}
	config, err := mysql.ParseDSN("/?" + parameters)
	if err != nil {
		return nil, errors.Join(errURL, err) // it is about a parameter
	}
	port := u.Port()
	if port == "" {
		port = portDefault
	}
	config.Net, config.Addr = "tcp", net.JoinHostPort(u.Hostname(), port)
	config.User = u.User.Username()
	config.Passwd, _ = u.User.Password()
	config.DBName = strings.TrimPrefix(u.Path, "/")
	return config, nil
}
