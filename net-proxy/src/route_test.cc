// Ways through an organisation's proxy: chosen, verified, and never passed by.

#include "cordon/net-proxy/route.h"

#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cordon/sdk/status.h"
#include "proxy_testing.h"
#include "support/catch.h"

namespace cordon::internal::egress {
namespace {

std::string Agreed() { return "HTTP/1.1 200 Connection established\r\n\r\n"; }

std::string AskFor(const std::string& target) {
  return "CONNECT " + target + " HTTP/1.1\r\nHost: x\r\n\r\n";
}

// A certificate that signs itself, for `name`, valid from `from` to `until` seconds from now.
struct Identity {
  explicit Identity(const std::string& name, long from = -60, long until = 3600) {
    char path[] = "/tmp/cordon-route-XXXXXX";
    UniqueFd fd(mkstemp(path));
    REQUIRE(fd.valid());
    file = path;
    key.reset(EVP_EC_gen("P-256"));
    certificate.reset(X509_new());
    X509* const x509 = certificate.get();
    X509_set_version(x509, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(x509), 1);
    X509_gmtime_adj(X509_getm_notBefore(x509), from);
    X509_gmtime_adj(X509_getm_notAfter(x509), until);
    X509_NAME* const subject = X509_get_subject_name(x509);
    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>("proxy"), -1, -1, 0);
    X509_set_issuer_name(x509, subject);
    X509_set_pubkey(x509, key.get());
    X509V3_CTX context;
    X509V3_set_ctx(&context, x509, x509, nullptr, nullptr, 0);
    for (const auto& [nid, value] : {std::pair(NID_subject_alt_name, name),
                                     std::pair(NID_basic_constraints, std::string("CA:TRUE"))}) {
      X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str());
      X509_add_ext(x509, extension, -1);
      X509_EXTENSION_free(extension);
    }
    REQUIRE(X509_sign(x509, key.get(), EVP_sha256()) > 0);
    BIO* const out = BIO_new_fd(fd.get(), BIO_NOCLOSE);
    REQUIRE(PEM_write_bio_X509(out, x509) == 1);
    BIO_free(out);
  }
  ~Identity() { unlink(file.c_str()); }

  struct Free {
    void operator()(EVP_PKEY* held) const { EVP_PKEY_free(held); }
    void operator()(X509* held) const { X509_free(held); }
    void operator()(SSL_CTX* held) const { SSL_CTX_free(held); }
    void operator()(SSL* held) const { SSL_free(held); }
  };
  std::unique_ptr<EVP_PKEY, Free> key;
  std::unique_ptr<X509, Free> certificate;
  std::string file;
};

// An organisation's proxy over TLS: answers each request with `answer` and then says back what it
// gets.
class TlsProxy {
 public:
  // Without `says_end` it just closes the connection when the client has ended.
  TlsProxy(const Identity& identity, std::string answer, int max_version = TLS1_3_VERSION,
           bool says_end = true)
      : context_(SSL_CTX_new(TLS_server_method())),
        answer_(std::move(answer)),
        says_end_(says_end),
        server_([this](const TestStream& stream) { Serve(stream); }) {
    SSL_CTX_use_certificate(context_.get(), identity.certificate.get());
    SSL_CTX_use_PrivateKey(context_.get(), identity.key.get());
    SSL_CTX_set_security_level(context_.get(), 0);
    SSL_CTX_set_max_proto_version(context_.get(), max_version);
  }
  [[nodiscard]] std::uint16_t port() const { return server_.port(); }
  // What clients said before an answer.
  [[nodiscard]] std::string heard() {
    const std::lock_guard lock(mutex_);
    return heard_;
  }

 private:
  void Serve(const TestStream& stream) {
    const std::unique_ptr<SSL, Identity::Free> ssl(SSL_new(context_.get()));
    SSL_set_fd(ssl.get(), stream.fd());
    if (SSL_accept(ssl.get()) != 1) return;
    std::string head;
    char bytes[16384];
    while (head.find("\r\n\r\n") == std::string::npos) {
      const int count = SSL_read(ssl.get(), bytes, sizeof bytes);
      if (count <= 0) return;
      head.append(bytes, static_cast<std::size_t>(count));
    }
    {
      const std::lock_guard lock(mutex_);
      heard_ += head;
    }
    SSL_write(ssl.get(), answer_.data(), static_cast<int>(answer_.size()));
    int count = 0;
    while ((count = SSL_read(ssl.get(), bytes, sizeof bytes)) > 0) {
      if (SSL_write(ssl.get(), bytes, count) != count) return;
    }
    if (says_end_) SSL_shutdown(ssl.get());
  }

  std::unique_ptr<SSL_CTX, Identity::Free> context_;
  std::string answer_;
  const bool says_end_;
  std::mutex mutex_;
  std::string heard_;
  TestServer server_;
};

// Through `proxy`, which is called `name`.
EgressProxyOptions Through(const std::string& name, std::uint16_t port, const std::string& ca) {
  EgressProxyOptions options;
  options.route = ParseEgressRoute("https://u:s3cr3t@" + name + ":" + std::to_string(port)).value();
  options.route.ca_file = ca;
  options.lookup = [](const std::string&) -> absl::StatusOr<std::vector<std::string>> {
    return std::vector<std::string>{"127.0.0.1"};
  };
  return options;
}

std::string Refusal(EgressProxyOptions options) {
  const Front front(std::move(options), Plan({"granted.test:7000"}));
  return front.Ask(AskFor("granted.test:7000"));
}

TEST_CASE("bytes go through a proxy over TLS as they were sent, both ways and to the end") {
  for (const char* name : {"proxy.test", "127.0.0.1"}) {
    const bool is_name = std::string_view(name) == "proxy.test";
    const Identity identity(is_name ? "DNS:proxy.test" : "IP:127.0.0.1");
    TlsProxy proxy(identity, Agreed());
    const Front front(Through(name, proxy.port(), identity.file), Plan({"granted.test:7000"}));
    const TestStream stream = front.Connect();
    std::string sent = std::string("\0", 1);
    for (int i = 0; i < 3'000'000; ++i) sent.push_back(static_cast<char>(i * 2654435761U >> 24));
    stream.Write(AskFor("granted.test:7000"));
    std::thread writer([&] {
      stream.Write(sent);
      stream.EndWriting();
    });
    const std::string got = stream.ReadAll();
    writer.join();
    CHECK((got == Agreed() + sent));
    CHECK(proxy.heard().starts_with("CONNECT granted.test:7000 HTTP/1.1\r\n"));
    CHECK(proxy.heard().find("Proxy-Authorization: Basic dTpzM2NyM3Q=\r\n") != std::string::npos);
  }
}

TEST_CASE("what a proxy over TLS cuts short does not look whole to the client") {
  const Identity identity("DNS:proxy.test");
  for (const bool says_end : {true, false}) {
    TlsProxy proxy(identity, Agreed(), TLS1_3_VERSION, says_end);
    const Front front(Through("proxy.test", proxy.port(), identity.file),
                      Plan({"granted.test:7000"}));
    const TestStream stream = front.Connect();
    stream.Write(AskFor("granted.test:7000"));
    CHECK(stream.Read(Agreed().size()) == Agreed());
    stream.Write(std::string("\0some", 5));
    CHECK(stream.Read(5) == std::string("\0some", 5));
    stream.EndWriting();
    bool reset = false;
    CHECK(stream.ReadAll(&reset).empty());
    CHECK(reset == !says_end);
  }
}

TEST_CASE("a proxy that is not proved to be the right one is told nothing") {
  const Identity right("DNS:proxy.test");
  const Identity other_name("DNS:other.test");
  const Identity expired("DNS:proxy.test", -7200, -3600);
  const Identity stranger("DNS:proxy.test");
  const struct {
    const Identity& shown;
    const Identity& trusted;
    int max_version;
    const char* words;
  } rows[] = {
      {other_name, other_name, TLS1_3_VERSION, "hostname mismatch"},
      {expired, expired, TLS1_3_VERSION, "certificate has expired"},
      {stranger, right, TLS1_3_VERSION, "not accepted"},
      {right, right, TLS1_1_VERSION, "failed"},
  };
  for (const auto& row : rows) {
    TlsProxy proxy(row.shown, Agreed(), row.max_version);
    const std::string answer = Refusal(Through("proxy.test", proxy.port(), row.trusted.file));
    INFO(answer);
    CHECK(answer.starts_with("HTTP/1.1 502"));
    CHECK(answer.find(row.words) != std::string::npos);
    CHECK(answer.find("s3cr3t") == std::string::npos);
    CHECK(proxy.heard().empty());
  }
  TlsProxy proxy(right, Agreed());
  CHECK(Refusal(Through("proxy.test", proxy.port(), "")).find("not accepted") != std::string::npos);
}

TEST_CASE("what a proxy over TLS refuses, or is not there for, is not tried directly") {
  std::atomic<int> reached = 0;
  const Identity identity("DNS:proxy.test");
  TestServer direct([&reached](const TestStream&) { ++reached; });
  const auto log = std::make_shared<LinesLog>();
  const std::string target = "granted.test:" + std::to_string(direct.port());
  const auto refusal = [&](std::uint16_t port) {
    EgressProxyOptions options = Through("proxy.test", port, identity.file);
    options.log = log;
    const Front front(std::move(options),
                      Plan({target, "127.0.0.1:" + std::to_string(direct.port())}));
    std::string answer = front.Ask(AskFor(target));
    for (const Denial& denial : front.front->Denials()) answer += denial.reason;
    return answer;
  };
  {
    TlsProxy proxy(identity, "HTTP/1.1 407 Proxy Authentication Required\r\n\r\n");
    CHECK(refusal(proxy.port()).find("407 Proxy Authentication Required") != std::string::npos);
  }
  {
    TlsProxy proxy(identity, "garbage\r\n\r\n");
    CHECK(refusal(proxy.port()).find("does not speak HTTP") != std::string::npos);
  }
  {
    TestServer plain([](const TestStream& stream) { stream.Write("HTTP/1.1 400 no TLS\r\n\r\n"); });
    CHECK(refusal(plain.port()).find("TLS with the upstream proxy failed") != std::string::npos);
  }
  std::uint16_t gone = 0;
  {
    TestServer server(ServeEcho);
    gone = server.port();
  }
  const std::string answer = refusal(gone);
  CHECK(answer.starts_with("HTTP/1.1 502"));
  CHECK(answer.find("s3cr3t") == std::string::npos);
  CHECK(reached == 0);
  CHECK(log->Has({"target=tcp:" + target, "verdict=failed: "}));
  CHECK(log->Text().find("s3cr3t") == std::string::npos);
  CHECK(log->Text().find("dTpzM2NyM3Q=") == std::string::npos);

  // The control: directly it would have been reached.
  EgressProxyOptions options = Through("proxy.test", gone, identity.file);
  options.route.exceptions = {"granted.test"};
  const Front front(std::move(options),
                    Plan({target, "127.0.0.1:" + std::to_string(direct.port())}));
  CHECK(front.Ask(AskFor(target)).starts_with("HTTP/1.1 200"));
  CHECK(Eventually([&reached] { return reached == 1; }));
}

TEST_CASE("a session that ends while a proxy is silent leaves nothing waiting") {
  TestServer silent([](const TestStream& stream) { (void)stream.ReadAll(); });
  const Identity identity("DNS:proxy.test");
  const Front front(Through("proxy.test", silent.port(), identity.file),
                    Plan({"granted.test:7000"}));
  TestStream stream = front.Connect();
  stream.Write(AskFor("granted.test:7000"));
  REQUIRE(Eventually([&silent] { return silent.connections() == 1; }));
  stream.Close();
}

TEST_CASE("routes are read in their usual spellings and others are refused without their secret") {
  const auto read = [](std::string_view text) { return ParseEgressRoute(text).value(); };
  CHECK(read("http://proxy.corp").proxy_port == 80);
  CHECK(read("https://proxy.corp/").proxy_port == 443);
  CHECK(read("https://[2001:db8::1]").proxy_host == "2001:db8::1");
  CHECK(read("https://[2001:db8::1]:8443").proxy_port == 8443);
  CHECK(read("https://a.test:1").tls);
  CHECK_FALSE(read("http://a.test:1").tls);
  CHECK(read("http://u:p%40s@a.test:1").credential == "u:p@s");
  for (const char* text :
       {"proxy:3128", "ftp://u:s3cr3t@proxy:3128", "http://s3cr3t@proxy:3128", "http://",
        "http://u:s3cr3t%0a@proxy:1", "http://u:s3cr3t@*.corp:1", "http://u:s3cr3t@proxy:0",
        "http://u:s3cr3t@10.0.0.0/8:1", "http://u:s3cr3t@proxy:1/path", "http://u:s3cr3t@p:*"}) {
    INFO(text);
    const absl::Status status = ParseEgressRoute(text).status();
    CHECK(Is(status, ErrorCode::kInvalidTarget));
    CHECK(status.message().find("s3cr3t") == absl::string_view::npos);
  }
}

TEST_CASE("a resolver knows the route that was configured and its exceptions, and no other") {
  EgressRoute route = ParseEgressRoute("http://u:s3cr3t@proxy.corp:3128").value();
  route.exceptions = {"in.corp", "*.in.corp", "10.0.0.0/8", "fd00::/8", "one.test:22"};
  const RouteResolver routes = RouteResolver::Create(route).value();
  const auto is_direct = [&routes](std::string_view target) {
    return routes.ProxyFor(Target(target)) == nullptr;
  };
  for (const char* target :
       {"in.corp:80", "a.in.corp:443", "10.1.2.3:22", "[fd00::1]:1", "one.test:22"}) {
    CHECK(is_direct(target));
  }
  for (const char* target :
       {"a.test:80", "xin.corp:80", "11.0.0.1:22", "one.test:23", "[fe80::1]:1"}) {
    CHECK_FALSE(is_direct(target));
  }
  CHECK(RouteResolver().ProxyFor(Target("a.test:1")) == nullptr);
  const auto create = [&route](const std::function<void(EgressRoute&)>& change) {
    EgressRoute changed = route;
    change(changed);
    return RouteResolver::Create(std::move(changed));
  };
  CHECK_FALSE(create([](EgressRoute& r) { r.exceptions = {"a b"}; }).ok());
  CHECK_FALSE(create([](EgressRoute& r) { r.proxy_host = "*"; }).ok());
  CHECK_FALSE(create([](EgressRoute& r) { r.proxy_port = 0; }).ok());
  CHECK_FALSE(create([](EgressRoute& r) { r.proxy_host.clear(); }).ok());

  // Equal without the secret, different with everything else.
  const std::string same = routes.Fingerprint();
  CHECK(RouteResolver().Fingerprint() == "direct");
  CHECK(same.find("proxy.corp") == std::string::npos);
  CHECK(create([](EgressRoute& r) { r.credential = "u:other"; })->Fingerprint() == same);
  CHECK(create([](EgressRoute& r) {
          std::swap(r.exceptions[0], r.exceptions[1]);
        })->Fingerprint() == same);
  CHECK(create([](EgressRoute& r) { r.tls = true; })->Fingerprint() != same);
  CHECK(create([](EgressRoute& r) { r.ca_file = "/ca"; })->Fingerprint() != same);
  CHECK(create([](EgressRoute& r) { r.proxy_port = 1; })->Fingerprint() != same);
  CHECK(create([](EgressRoute& r) { r.exceptions.pop_back(); })->Fingerprint() != same);
  EgressProxyOptions options;
  options.route = route;
  CHECK(NewEgressProxy(std::move(options)).value()->RouteFingerprint() == same);
}

TEST_CASE("the environment's proxy and the hosts that it is not for") {
  std::map<std::string, std::string> environment;
  const auto route = [&environment] {
    return EgressRouteOfEnvironment([&](const char* name) -> std::optional<std::string> {
      const auto found = environment.find(name);
      if (found == environment.end()) return std::nullopt;
      return found->second;
    });
  };
  CHECK(route().value().proxy_host.empty());
  environment = {{"HTTPS_PROXY", "http://upper.test:1"},
                 {"NO_PROXY", "localhost, .corp.test,a.test,10.0.0.0/8,::1, ,bad host"}};
  CHECK(route().value().proxy_host == "upper.test");
  const RouteResolver routes = RouteResolver::Create(route().value()).value();
  for (const char* target : {"localhost:1", "corp.test:1", "x.corp.test:1", "a.test:1",
                             "b.a.test:1", "10.2.3.4:1", "[::1]:1"}) {
    INFO(target);
    CHECK(routes.ProxyFor(Target(target)) == nullptr);
  }
  for (const char* target : {"xcorp.test:1", "xa.test:1", "11.0.0.1:1", "host:1"}) {
    CHECK(routes.ProxyFor(Target(target)) != nullptr);
  }
  environment["https_proxy"] = "lower.test:2";
  CHECK(route().value().proxy_host == "lower.test");
  environment["no_proxy"] = "*";
  CHECK(RouteResolver::Create(route().value())->ProxyFor(Target("z.test:1")) == nullptr);
  environment["https_proxy"] = "socks5://u:s3cr3t@x:1";
  CHECK(Is(route().status(), ErrorCode::kInvalidTarget));
  CHECK(route().status().message().find("https_proxy") != absl::string_view::npos);
  CHECK(route().status().message().find("s3cr3t") == absl::string_view::npos);
}

TEST_CASE("an organisation's proxy is asked for each target and never passed by") {
  TestServer server(ServeEcho);
  const std::string port = std::to_string(server.port());
  // Ours, as somebody else's: it knows granted.test, and nobody else does.
  const Front upstream(With("granted.test:7000", server), Plan({"granted.test:7000"}), "u:secret");
  const std::string where = "127.0.0.1:" + std::to_string(upstream.front->port());
  EgressProxyOptions options;
  options.route = ParseEgressRoute("http://u:secret@" + where).value();
  options.lookup = [](const std::string&) -> absl::StatusOr<std::vector<std::string>> {
    return std::vector<std::string>{"127.0.0.1"};
  };
  const Front front(std::move(options), Plan({"granted.test:7000", "refused.test:" + port}));
  const std::string agreed = "HTTP/1.1 200 Connection established\r\n\r\n";
  const TestStream stream = front.Connect();
  stream.Write("CONNECT granted.test:7000 HTTP/1.1\r\nHost: x\r\n\r\n" + std::string("\0x", 2));
  stream.EndWriting();
  CHECK(stream.ReadAll() == agreed + std::string("\0x", 2));

  const std::string refused =
      front.Ask("CONNECT refused.test:" + port + " HTTP/1.1\r\nHost: x\r\n\r\n");
  CHECK(refused.starts_with("HTTP/1.1 502"));
  CHECK(refused.find("the upstream proxy answered: HTTP/1.1 403") != std::string::npos);
  CHECK(server.connections() == 1);

  EgressProxyOptions wrong;
  wrong.route = ParseEgressRoute("http://u:wrong@" + where).value();
  const Front other(std::move(wrong), Plan({"granted.test:7000"}));
  const std::string answer = other.Ask("CONNECT granted.test:7000 HTTP/1.1\r\nHost: x\r\n\r\n");
  CHECK(answer.starts_with("HTTP/1.1 502"));
  CHECK(answer.find("407") != std::string::npos);
  CHECK(answer.find("wrong") == std::string::npos);
}

}  // namespace
}  // namespace cordon::internal::egress
