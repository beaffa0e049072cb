//! The stub name server on 127.0.0.1:53: answers what a case sets, and remembers every query.
//!
//! A name that was never set answers `A 127.0.0.2`, the refused ones too, so that a leak connects.

use std::collections::HashMap;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream, ToSocketAddrs, UdpSocket};
use std::str::FromStr as _;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;

use hickory_proto::op::{Message, MessageType, ResponseCode};
use hickory_proto::rr::rdata::{A, AAAA, CNAME};
use hickory_proto::rr::{Name, RData, Record, RecordType};

const PLACE: (&str, u16) = ("127.0.0.1", 53);

/// The stub; clones speak of the same one.
#[derive(Clone)]
pub(crate) struct StubDns {
    state: Arc<Mutex<State>>,
}

/// How a question came in.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Over {
    Udp,
    Tcp,
}

/// What a case makes of an honest answer: any number of messages.
type Twist = Arc<dyn Fn(Message, Over) -> Vec<Vec<u8>> + Send + Sync>;

#[derive(Default)]
struct State {
    answers: HashMap<String, Sequence>,
    twists: HashMap<String, Twist>,
    queries: Vec<Query>,
}

/// One query that arrived.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Query {
    /// In lower case, without the final dot, escaped as in a zone file.
    pub(crate) name: String,
    pub(crate) kind: RecordType,
}

#[derive(Debug)]
struct Sequence {
    answers: Vec<Answer>,
    next: usize,
    ttl: u32,
}

#[derive(Clone, Debug)]
enum Answer {
    Data(Vec<RData>),
    Code(ResponseCode),
    Silence,
}

impl StubDns {
    /// Starts to answer, over UDP and TCP.
    pub(crate) fn start() -> Self {
        Self::at(PLACE)
    }

    /// One more name server, with answers of its own.
    pub(crate) fn at(place: impl ToSocketAddrs) -> Self {
        let stub = Self {
            state: Arc::default(),
        };
        let udp = UdpSocket::bind(&place).unwrap();
        let tcp = TcpListener::bind(&place).unwrap();
        let over_udp = stub.clone();
        thread::spawn(move || over_udp.serve_udp(&udp));
        let over_tcp = stub.clone();
        thread::spawn(move || over_tcp.serve_tcp(&tcp));
        stub
    }

    /// Answers the same at another place, over UDP alone.
    pub(crate) fn also_over_udp(&self, place: impl ToSocketAddrs) {
        let udp = UdpSocket::bind(place).unwrap();
        let own = self.clone();
        thread::spawn(move || own.serve_udp(&udp));
    }

    /// Sets what `name` answers from now on: pairs of type and value (`A 10.0.0.5`,
    /// `AAAA ::1 A 127.0.0.2`, `CNAME other.test`), or `NXDOMAIN`, `SERVFAIL`, `NOANSWER`.
    pub(crate) fn set(&self, name: &str, answer: &str) {
        self.put(name, &[answer], 60);
    }

    /// Sets answers that follow one another in turn, each with a TTL of zero.
    pub(crate) fn sequence(&self, name: &str, answers: &[&str]) {
        self.put(name, answers, 0);
    }

    /// Lets a case answer questions for `name` as oddly as it likes, and as late.
    pub(crate) fn twist(
        &self,
        name: &str,
        twist: impl Fn(Message, Over) -> Vec<Vec<u8>> + Send + Sync + 'static,
    ) {
        let mut state = self.state();
        state.twists.insert(name.to_owned(), Arc::new(twist));
    }

    /// Every query so far.
    pub(crate) fn queries(&self) -> Vec<Query> {
        self.state().queries.clone()
    }

    /// How often `name` was asked for, whatever the type.
    pub(crate) fn asked(&self, name: &str) -> usize {
        self.state()
            .queries
            .iter()
            .filter(|query| query.name == name)
            .count()
    }

    fn put(&self, name: &str, answers: &[&str], ttl: u32) {
        let answers = answers.iter().map(|text| parse(text)).collect();
        self.state().answers.insert(
            name.to_owned(),
            Sequence {
                answers,
                next: 0,
                ttl,
            },
        );
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    fn serve_udp(&self, socket: &UdpSocket) {
        let mut buffer = [0; 4096];
        while let Ok((count, from)) = socket.recv_from(&mut buffer) {
            let Some((reply, twist)) = self.reply(&buffer[..count]) else {
                continue;
            };
            let Some(twist) = twist else {
                let _ = socket.send_to(&fitting(packed(&reply)), from);
                continue;
            };
            let socket = socket.try_clone().unwrap();
            thread::spawn(move || {
                for reply in twist(reply, Over::Udp) {
                    let _ = socket.send_to(&fitting(reply), from);
                }
            });
        }
    }

    fn serve_tcp(&self, listener: &TcpListener) {
        for stream in listener.incoming().flatten() {
            let stub = self.clone();
            thread::spawn(move || stub.serve_stream(stream));
        }
    }

    fn serve_stream(&self, mut stream: TcpStream) {
        let mut length = [0; 2];
        while stream.read_exact(&mut length).is_ok() {
            let mut query = vec![0; usize::from(u16::from_be_bytes(length))];
            if stream.read_exact(&mut query).is_err() {
                return;
            }
            let Some((reply, twist)) = self.reply(&query) else {
                continue;
            };
            let replies = match twist {
                Some(twist) => twist(reply, Over::Tcp),
                None => vec![packed(&reply)],
            };
            for reply in replies {
                let size = u16::try_from(reply.len()).unwrap().to_be_bytes();
                if stream.write_all(&[&size, &*reply].concat()).is_err() {
                    return;
                }
            }
        }
    }

    fn reply(&self, bytes: &[u8]) -> Option<(Message, Option<Twist>)> {
        let query = Message::from_vec(bytes).ok()?;
        let asked = query.queries.first()?.clone();
        let kind = asked.query_type();
        let key = plain(asked.name());
        self.state().queries.push(Query {
            name: key.clone(),
            kind,
        });

        let mut reply = Message::response(query.metadata.id, query.metadata.op_code);
        reply.metadata.message_type = MessageType::Response;
        reply.metadata.recursion_desired = query.metadata.recursion_desired;
        reply.metadata.recursion_available = true;
        let mut owner = asked.name().clone();
        reply.add_query(asked);
        let twist = self.state().twists.get(&key).cloned();
        // A stub that follows its own aliases, as a recursive server does.
        let mut name = key;
        for _ in 0..8 {
            let (answer, ttl) = self.state().take(&name, kind);
            match answer {
                Answer::Silence => return None,
                Answer::Code(code) => {
                    reply.metadata.response_code = code;
                    break;
                }
                Answer::Data(data) => {
                    let alias = data.iter().find_map(|item| {
                        if let RData::CNAME(target) = item {
                            return Some(target.0.clone());
                        }
                        None
                    });
                    for item in data {
                        let fits = item.record_type() == kind;
                        if fits || matches!(item, RData::CNAME(_)) {
                            reply.add_answer(Record::from_rdata(owner.clone(), ttl, item));
                        }
                    }
                    let Some(target) = alias else { break };
                    name = plain(&target);
                    owner = target;
                }
            }
        }
        Some((reply, twist))
    }
}

/// The most that is sent as one datagram, as servers on the internet do.
const DATAGRAM: usize = 1232;

/// What is too long for a datagram is cut off, and to be asked for over TCP.
fn fitting(reply: Vec<u8>) -> Vec<u8> {
    if reply.len() <= DATAGRAM {
        return reply;
    }
    packed(&Message::from_vec(&reply).unwrap().truncate())
}

/// A message as it travels.
pub(crate) fn packed(message: &Message) -> Vec<u8> {
    message.to_vec().unwrap()
}

impl State {
    fn take(&mut self, name: &str, kind: RecordType) -> (Answer, u32) {
        let Some(sequence) = self.answers.get_mut(name) else {
            return (Answer::Data(vec![RData::A(A::new(127, 0, 0, 2))]), 60);
        };
        let answer = sequence.answers[sequence.next % sequence.answers.len()].clone();
        // The v6 question travels beside the v4 one and must not use up an answer.
        if kind == RecordType::A {
            sequence.next += 1;
        }
        (answer, sequence.ttl)
    }
}

fn plain(name: &Name) -> String {
    name.to_ascii().trim_end_matches('.').to_ascii_lowercase()
}

fn parse(text: &str) -> Answer {
    match text {
        "NXDOMAIN" => return Answer::Code(ResponseCode::NXDomain),
        "SERVFAIL" => return Answer::Code(ResponseCode::ServFail),
        "NOANSWER" => return Answer::Silence,
        _ => {}
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    let data = words.chunks_exact(2).map(|pair| match pair[0] {
        "A" => RData::A(A(pair[1].parse().unwrap())),
        "AAAA" => RData::AAAA(AAAA(pair[1].parse().unwrap())),
        "CNAME" => RData::CNAME(CNAME(Name::from_str(&format!("{}.", pair[1])).unwrap())),
        other => panic!("the stub knows no record type {other}"),
    });
    Answer::Data(data.collect())
}
