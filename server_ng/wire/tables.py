"""The codes and rows that the wire, the native side and Python share.

Generated from the tables of `native/wire` by `make generate`: change them there.
"""

from dataclasses import dataclass
from enum import IntEnum, IntFlag
from typing import Final, Literal, NamedTuple

TABLES_DIGEST: Final = 0xCF646F0432279744
PROTOCOL_VERSION: Final = 11264
METRIC_CELLS: Final = 319
USERS_MAX: Final = 65536
"""Users of a cluster."""
USERNAME_BYTES_MIN: Final = 3
"""Bytes of a user name, at least."""
USERNAME_BYTES_MAX: Final = 50
"""Bytes of a user name, at most."""
PASSWORD_BYTES_MIN: Final = 3
"""Bytes of a password, at least."""
PASSWORD_BYTES_MAX: Final = 100
"""Bytes of a password, at most."""
ENRICHMENTS_MAX: Final = 256
"""Commands that wait for a password hash before they go into the log."""


class Command(IntEnum):
    """A command of the client plane, by its code."""

    PING = 1
    STATS = 10
    SNAPSHOT = 11
    CLUSTER_METADATA = 12
    DESCRIBE_OPTIONS = 13
    ATTACH_CONSUMER_SESSION = 14
    GET_ME = 20
    GET_CLIENT = 21
    GET_CLIENTS = 22
    GET_USER = 31
    GET_USERS = 32
    CREATE_USER = 33
    DELETE_USER = 34
    UPDATE_USER = 35
    UPDATE_PERMISSIONS = 36
    CHANGE_PASSWORD = 37
    LOGIN_USER = 38
    LOGOUT = 39
    LOGIN_REGISTER = 40
    GET_PERSONAL_ACCESS_TOKENS = 41
    CREATE_PERSONAL_ACCESS_TOKEN = 42
    DELETE_PERSONAL_ACCESS_TOKEN = 43
    LOGIN_WITH_PERSONAL_ACCESS_TOKEN = 44
    LOGIN_REGISTER_WITH_TOKEN = 45
    POLL_MESSAGES = 100
    SEND_MESSAGES = 101
    FLUSH_UNSAVED_BUFFER = 102
    POLL_ROUTING = 103
    POLL_PRIMARY = 104
    GET_CONSUMER_OFFSET = 120
    STORE_CONSUMER_OFFSET = 121
    DELETE_CONSUMER_OFFSET = 122
    OFFSET_ROUTING = 123
    GET_STREAM = 200
    GET_STREAMS = 201
    CREATE_STREAM = 202
    DELETE_STREAM = 203
    UPDATE_STREAM = 204
    PURGE_STREAM = 205
    GET_TOPIC = 300
    GET_TOPICS = 301
    CREATE_TOPIC = 302
    DELETE_TOPIC = 303
    UPDATE_TOPIC = 304
    PURGE_TOPIC = 305
    CREATE_PARTITIONS = 402
    DELETE_PARTITIONS = 403
    DELETE_SEGMENTS = 503
    GET_CONSUMER_GROUP = 600
    GET_CONSUMER_GROUPS = 601
    CREATE_CONSUMER_GROUP = 602
    DELETE_CONSUMER_GROUP = 603
    JOIN_CONSUMER_GROUP = 604
    LEAVE_CONSUMER_GROUP = 605
    SYNC_CONSUMER_GROUP = 606


class Operation(IntEnum):
    """The operation byte of a request."""

    REGISTER = 1
    """Makes a session."""
    NON_REPLICATED = 2
    """A command that is not replicated; its code is in the header."""
    LOGOUT = 3
    """Ends a session."""
    CREATE_TOPIC_WITH_ASSIGNMENTS = 64
    """Create topic, with the groups of its partitions; never sent by a client."""
    CREATE_PARTITIONS_WITH_ASSIGNMENTS = 65
    """Create partitions, with their groups; never sent by a client."""
    REMOVE_CONSUMER_GROUP_MEMBER = 66
    """Removes a member from its group because its session ended; never sent by a client."""
    COMPLETE_CONSUMER_GROUP_REVOCATION = 67
    """Ends the hand-over of a partition between group members; never sent by a client."""
    TRUNCATE_PARTITION = 68
    """Delete segments, with the last offset to delete; never sent by a client."""
    CREATE_ROOT = 69
    """Creates the root user where there are no users; never sent by a client."""
    CREATE_STREAM = 128
    """Creates a stream."""
    UPDATE_STREAM = 129
    """Renames a stream."""
    DELETE_STREAM = 130
    """Deletes a stream."""
    PURGE_STREAM = 131
    """Removes every record of a stream."""
    CREATE_TOPIC = 132
    """Creates a topic."""
    UPDATE_TOPIC = 133
    """Changes a topic."""
    DELETE_TOPIC = 134
    """Deletes a topic."""
    PURGE_TOPIC = 135
    """Removes every record of a topic."""
    CREATE_PARTITIONS = 136
    """Adds partitions to a topic."""
    DELETE_PARTITIONS = 137
    """Removes the last partitions of a topic."""
    DELETE_SEGMENTS = 138
    """Deletes the oldest segments of a partition."""
    CREATE_CONSUMER_GROUP = 139
    """Creates a consumer group."""
    DELETE_CONSUMER_GROUP = 140
    """Deletes a consumer group."""
    CREATE_USER = 141
    """Creates a user."""
    UPDATE_USER = 142
    """Changes a user."""
    DELETE_USER = 143
    """Deletes a user."""
    CHANGE_PASSWORD = 144
    """Changes a password."""
    UPDATE_PERMISSIONS = 145
    """Replaces the permissions of a user."""
    CREATE_PERSONAL_ACCESS_TOKEN = 146
    """Creates a personal access token."""
    DELETE_PERSONAL_ACCESS_TOKEN = 147
    """Deletes a personal access token."""
    JOIN_CONSUMER_GROUP = 148
    """Joins a consumer group."""
    LEAVE_CONSUMER_GROUP = 149
    """Leaves a consumer group."""
    SEND_MESSAGES = 160
    """Appends messages to a partition."""
    STORE_CONSUMER_OFFSET = 161
    """Stores a consumer's offset."""
    DELETE_CONSUMER_OFFSET = 162
    """Deletes a consumer's offset."""


class ErrorCode(IntEnum):
    """Status or result codes in replies to clients."""

    ERROR = 1
    INVALID_CONFIGURATION = 2
    INVALID_COMMAND = 3
    INVALID_FORMAT = 4
    FEATURE_UNAVAILABLE = 5
    INVALID_IDENTIFIER = 6
    INVALID_VERSION = 7
    DISCONNECTED = 8
    CANNOT_ESTABLISH_CONNECTION = 9
    CANNOT_CREATE_BASE_DIRECTORY = 10
    CANNOT_CREATE_RUNTIME_DIRECTORY = 11
    CANNOT_REMOVE_RUNTIME_DIRECTORY = 12
    CANNOT_CREATE_STATE_DIRECTORY = 13
    STATE_FILE_NOT_FOUND = 14
    STATE_FILE_CORRUPTED = 15
    INVALID_STATE_ENTRY_CHECKSUM = 16
    CANNOT_OPEN_DATABASE = 19
    RESOURCE_NOT_FOUND = 20
    CANNOT_CLOSE_WEB_SOCKET_CONNECTION = 21
    STALE_CLIENT = 30
    TCP_ERROR = 31
    QUIC_ERROR = 32
    INVALID_SERVER_ADDRESS = 33
    INVALID_CLIENT_ADDRESS = 34
    INVALID_IP_ADDRESS = 35
    HTTP_ERROR = 36
    INVALID_API_URL = 37
    UNAUTHENTICATED = 40
    UNAUTHORIZED = 41
    INVALID_CREDENTIALS = 42
    INVALID_USERNAME = 43
    INVALID_PASSWORD = 44
    INVALID_USER_STATUS = 45
    USER_ALREADY_EXISTS = 46
    USER_INACTIVE = 47
    CANNOT_DELETE_USER = 48
    CANNOT_CHANGE_PERMISSIONS = 49
    INVALID_PERSONAL_ACCESS_TOKEN_NAME = 50
    PERSONAL_ACCESS_TOKEN_ALREADY_EXISTS = 51
    PERSONAL_ACCESS_TOKENS_LIMIT_REACHED = 52
    INVALID_PERSONAL_ACCESS_TOKEN = 53
    PERSONAL_ACCESS_TOKEN_EXPIRED = 54
    USERS_LIMIT_REACHED = 55
    INVALID_PERSONAL_ACCESS_TOKEN_EXPIRY = 56
    TRANSIENT_NOT_COMMITTED = 57
    TRANSIENT_NOT_ACCEPTED = 58
    REQUEST_ALREADY_APPLIED = 59
    NOT_CONNECTED = 61
    CLIENT_SHUTDOWN = 63
    INVALID_TLS_DOMAIN = 64
    INVALID_TLS_CERTIFICATE_PATH = 65
    INVALID_TLS_CERTIFICATE = 66
    FAILED_TO_ADD_CERTIFICATE = 67
    INVALID_ENCRYPTION_KEY = 70
    CANNOT_ENCRYPT_DATA = 71
    CANNOT_DECRYPT_DATA = 72
    INVALID_JWT_ALGORITHM = 73
    INVALID_JWT_SECRET = 74
    JWT_MISSING = 75
    CANNOT_GENERATE_JWT = 76
    ACCESS_TOKEN_MISSING = 77
    INVALID_ACCESS_TOKEN = 78
    CANNOT_FETCH_JWKS = 79
    INVALID_SIZE_BYTES = 80
    INVALID_UTF8 = 81
    INVALID_NUMBER_ENCODING = 82
    INVALID_BOOLEAN_VALUE = 83
    INVALID_NUMBER_VALUE = 84
    CLIENT_NOT_FOUND = 100
    INVALID_CLIENT_ID = 101
    CONNECTION_CLOSED = 206
    CANNOT_PARSE_HEADER_KIND = 209
    HTTP_RESPONSE_ERROR = 300
    INVALID_HTTP_REQUEST = 301
    INVALID_JSON_RESPONSE = 302
    INVALID_BYTES_RESPONSE = 303
    EMPTY_RESPONSE = 304
    CANNOT_CREATE_ENDPOINT = 305
    CANNOT_PARSE_URL = 306
    WEB_SOCKET_ERROR = 400
    WEB_SOCKET_CONNECTION_ERROR = 401
    WEB_SOCKET_CLOSE_ERROR = 402
    WEB_SOCKET_RECEIVE_ERROR = 403
    WEB_SOCKET_SEND_ERROR = 404
    CANNOT_CREATE_STREAMS_DIRECTORY = 1000
    CANNOT_CREATE_STREAM_DIRECTORY = 1001
    CANNOT_CREATE_STREAM_INFO = 1002
    CANNOT_UPDATE_STREAM_INFO = 1003
    CANNOT_OPEN_STREAM_INFO = 1004
    CANNOT_READ_STREAM_INFO = 1005
    CANNOT_CREATE_STREAM = 1006
    CANNOT_DELETE_STREAM = 1007
    CANNOT_DELETE_STREAM_DIRECTORY = 1008
    STREAM_ID_NOT_FOUND = 1009
    STREAM_NAME_NOT_FOUND = 1010
    STREAM_DIRECTORY_NOT_FOUND = 1011
    STREAM_NAME_ALREADY_EXISTS = 1012
    INVALID_STREAM_NAME = 1013
    INVALID_STREAM_ID = 1014
    CANNOT_READ_STREAMS = 1015
    INVALID_TOPIC_SIZE = 1019
    TOO_MANY_STREAMS = 1020
    CANNOT_CREATE_TOPICS_DIRECTORY = 2000
    CANNOT_CREATE_TOPIC_DIRECTORY = 2001
    CANNOT_CREATE_TOPIC_INFO = 2002
    CANNOT_UPDATE_TOPIC_INFO = 2003
    CANNOT_OPEN_TOPIC_INFO = 2004
    CANNOT_READ_TOPIC_INFO = 2005
    CANNOT_CREATE_TOPIC = 2006
    CANNOT_DELETE_TOPIC = 2007
    CANNOT_DELETE_TOPIC_DIRECTORY = 2008
    CANNOT_POLL_TOPIC = 2009
    TOPIC_ID_NOT_FOUND = 2010
    TOPIC_NAME_NOT_FOUND = 2011
    TOPIC_NAME_ALREADY_EXISTS = 2013
    INVALID_TOPIC_NAME = 2014
    TOO_MANY_PARTITIONS = 2015
    INVALID_TOPIC_ID = 2016
    CANNOT_READ_TOPICS = 2017
    INVALID_REPLICATION_FACTOR = 2018
    INVALID_PARTITIONS_COUNT = 2019
    TOPIC_DIRECTORY_NOT_FOUND = 2020
    TOO_MANY_TOPICS = 2021
    CANNOT_CREATE_PARTITION = 3000
    CANNOT_CREATE_PARTITIONS_DIRECTORY = 3001
    CANNOT_CREATE_PARTITION_DIRECTORY = 3002
    CANNOT_OPEN_PARTITION_LOG_FILE = 3003
    CANNOT_READ_PARTITIONS = 3004
    CANNOT_DELETE_PARTITION = 3005
    CANNOT_DELETE_PARTITION_DIRECTORY = 3006
    PARTITION_NOT_FOUND = 3007
    NO_PARTITIONS = 3008
    TOPIC_FULL = 3009
    CANNOT_DELETE_CONSUMER_OFFSETS_DIRECTORY = 3010
    CANNOT_DELETE_CONSUMER_OFFSET_FILE = 3011
    CANNOT_CREATE_CONSUMER_OFFSETS_DIRECTORY = 3012
    PARTITION_ID_SPACE_EXHAUSTED = 3013
    CANNOT_READ_CONSUMER_OFFSETS = 3020
    CONSUMER_OFFSET_NOT_FOUND = 3021
    NOT_RESOLVED_CONSUMER = 3022
    CANNOT_OPEN_CONSUMER_OFFSETS_FILE = 3023
    CONSUMER_OFFSETS_LIMIT_REACHED = 3024
    SEGMENT_NOT_FOUND = 4000
    SEGMENT_CLOSED = 4001
    INVALID_SEGMENT_SIZE = 4002
    CANNOT_CREATE_SEGMENT_LOG_FILE = 4003
    CANNOT_CREATE_SEGMENT_INDEX_FILE = 4004
    CANNOT_CREATE_SEGMENT_TIME_INDEX_FILE = 4005
    CANNOT_SAVE_MESSAGES_TO_SEGMENT = 4006
    CANNOT_SAVE_INDEX_TO_SEGMENT = 4007
    CANNOT_SAVE_TIME_INDEX_TO_SEGMENT = 4008
    INVALID_MESSAGES_COUNT = 4009
    CANNOT_APPEND_MESSAGE = 4010
    CANNOT_READ_MESSAGE = 4011
    CANNOT_READ_MESSAGE_ID = 4012
    CANNOT_READ_MESSAGE_STATE = 4013
    CANNOT_READ_MESSAGE_TIMESTAMP = 4014
    CANNOT_READ_HEADERS_LENGTH = 4015
    CANNOT_READ_HEADERS_PAYLOAD = 4016
    TOO_BIG_USER_HEADERS = 4017
    INVALID_HEADER_KEY = 4018
    INVALID_HEADER_VALUE = 4019
    CANNOT_READ_MESSAGE_LENGTH = 4020
    CANNOT_READ_MESSAGE_PAYLOAD = 4021
    TOO_BIG_MESSAGE_PAYLOAD = 4022
    TOO_MANY_MESSAGES = 4023
    EMPTY_MESSAGE_PAYLOAD = 4024
    INVALID_MESSAGE_PAYLOAD_LENGTH = 4025
    CANNOT_READ_MESSAGE_CHECKSUM = 4026
    INVALID_MESSAGE_CHECKSUM = 4027
    INVALID_KEY_VALUE_LENGTH = 4028
    COMMAND_LENGTH_ERROR = 4029
    INVALID_SEGMENTS_COUNT = 4030
    NON_ZERO_OFFSET = 4031
    NON_ZERO_TIMESTAMP = 4032
    MISSING_INDEX = 4033
    INVALID_INDEXES_BYTE_SIZE = 4034
    INVALID_INDEXES_COUNT = 4035
    INVALID_MESSAGES_SIZE = 4036
    TOO_SMALL_MESSAGE = 4037
    INVALID_MESSAGE_TIMESTAMP_DELTA = 4038
    INVALID_BATCH_CHECKSUM = 4039
    INVALID_HEADER_KIND = 4040
    UNSUPPORTED_OPTION_KEY = 4041
    INVALID_OPTION_VALUE = 4042
    OPTIONS_BLOCK_TOO_LARGE = 4043
    CANNOT_SEND_MESSAGES_DUE_TO_CLIENT_DISCONNECTION = 4050
    BACKGROUND_SEND_ERROR = 4051
    BACKGROUND_SEND_TIMEOUT = 4052
    BACKGROUND_SEND_BUFFER_FULL = 4053
    BACKGROUND_WORKER_DISCONNECTED = 4054
    BACKGROUND_SEND_BUFFER_OVERFLOW = 4055
    PRODUCER_SEND_FAILED = 4056
    PRODUCER_CLOSED = 4057
    INVALID_OFFSET = 4100
    INVALID_RESERVED_FIELD = 4101
    SEGMENT_SIZE_MISMATCH = 4102
    CONSUMER_GROUP_ID_NOT_FOUND = 5000
    INVALID_CONSUMER_GROUP_ID = 5002
    CONSUMER_GROUP_NAME_NOT_FOUND = 5003
    CONSUMER_GROUP_NAME_ALREADY_EXISTS = 5004
    INVALID_CONSUMER_GROUP_NAME = 5005
    CONSUMER_GROUP_MEMBER_NOT_FOUND = 5006
    CANNOT_CREATE_CONSUMER_GROUP_INFO = 5007
    CANNOT_DELETE_CONSUMER_GROUP_INFO = 5008
    CONSUMER_GROUP_PARTITION_NOT_OWNED = 5009
    MISSING_BASE_OFFSET_RETAINED_MESSAGE_BATCH = 6000
    MISSING_LAST_OFFSET_DELTA_RETAINED_MESSAGE_BATCH = 6001
    MISSING_MAX_TIMESTAMP_RETAINED_MESSAGE_BATCH = 6002
    MISSING_LENGTH_RETAINED_MESSAGE_BATCH = 6003
    MISSING_PAYLOAD_RETAINED_MESSAGE_BATCH = 6004
    CANNOT_READ_BATCH_BASE_OFFSET = 7000
    CANNOT_READ_BATCH_LENGTH = 7001
    CANNOT_READ_LAST_OFFSET_DELTA = 7002
    CANNOT_READ_MAX_TIMESTAMP = 7003
    CANNOT_READ_BATCH_PAYLOAD = 7004
    INVALID_CONNECTION_STRING = 8000
    SNAPSHOT_FILE_COMPLETION_FAILED = 9000
    CANNOT_SERIALIZE_RESOURCE = 10000
    CANNOT_DESERIALIZE_RESOURCE = 10001
    CANNOT_READ_FILE = 10002
    CANNOT_READ_FILE_METADATA = 10003
    CANNOT_SEEK_FILE = 10004
    CANNOT_APPEND_TO_FILE = 10005
    CANNOT_WRITE_TO_FILE = 10006
    CANNOT_OVERWRITE_FILE = 10007
    CANNOT_DELETE_FILE = 10008
    CANNOT_SYNC_FILE = 10009
    CANNOT_READ_INDEX_OFFSET = 10010
    CANNOT_READ_INDEX_POSITION = 10011
    CANNOT_READ_INDEX_TIMESTAMP = 10012
    TIMESTAMP_OUT_OF_RANGE = 10013
    SHARD_NOT_FOUND = 11000
    SHARD_COMMUNICATION_ERROR = 11001
    CANNOT_BIND_TO_SOCKET = 12000
    TASK_TIMEOUT = 12001
    IO_ERROR = 13000
    ALREADY_AUTHENTICATED = 14000
    INVALID_SESSION = 14001
    INCOMPATIBLE_PROTOCOL_VERSION = 14003


class EvictionReason(IntEnum):
    """Reasons why a session ends or is refused."""

    RESERVED = 0
    """Never sent, because clients treat it as an invalid frame."""
    NO_SESSION = 1
    """The command needs a session and the connection has none."""
    CLIENT_RELEASE_TOO_LOW = 2
    """The client's release is older than the server accepts."""
    CLIENT_RELEASE_TOO_HIGH = 3
    """The client's release is newer than the server accepts."""
    INVALID_REQUEST_OPERATION = 4
    """The operation is not one a client may ask for."""
    INVALID_REQUEST_BODY = 5
    """The body of the request cannot be read."""
    INVALID_REQUEST_BODY_SIZE = 6
    """The body of the request has a size the operation does not allow."""
    SESSION_TOO_LOW = 7
    """The session was replaced by a later one of the same client."""
    SESSION_RELEASE_MISMATCH = 8
    """The session was made by another release of the client."""
    INVALID_CREDENTIALS = 9
    """The user is unknown, inactive, or the password is wrong."""
    INVALID_TOKEN = 10
    """The personal access token is unknown or has expired."""
    USER_INACTIVE = 11
    """The user of the token may not log in."""
    SESSION_ERROR = 12
    """The server could not keep the session."""
    STALE_CLIENT = 13
    """The client was silent for too long."""
    INCOMPATIBLE_PROTOCOL = 14
    """The protocol version is outside the window named in the frame."""
    MALFORMED_LOGIN = 15
    """The body of the login cannot be read, or the login is of a retired kind."""


class Requirement(IntEnum):
    """Permissions that a command requires of its sender."""

    NOTHING = 0
    """Nothing: strangers may."""
    CREDENTIALS = 1
    """Credentials in the body."""
    SESSION = 2
    """A session."""
    READ_SERVERS = 3
    """Sight of servers."""
    READ_USERS = 4
    """Sight of users."""
    READ_USERS_OR_SELF = 5
    """Sight of users, unless the user is one's own."""
    MANAGE_USERS = 6
    """Power over users."""
    MANAGE_USERS_OR_SELF = 7
    """Power over users, unless the user is one's own."""
    READ_STREAMS = 8
    """Sight of every stream."""
    READ_STREAM = 9
    """Sight of the stream."""
    MANAGE_STREAMS = 10
    """Power over every stream."""
    MANAGE_STREAM = 11
    """Power over the stream."""
    READ_TOPICS = 12
    """Sight of every topic of the stream."""
    READ_TOPIC = 13
    """Sight of the topic."""
    MANAGE_TOPICS = 14
    """Power over every topic of the stream."""
    MANAGE_TOPIC = 15
    """Power over the topic."""
    POLL_MESSAGES = 16
    """Polling from the topic."""
    SEND_MESSAGES = 17
    """Sending to the topic."""


class GlobalFlag(IntFlag):
    """Flags that a user holds everywhere, in the order of a permission block."""

    MANAGE_SERVERS = 1
    """Act on servers."""
    READ_SERVERS = 2
    """Look at servers."""
    MANAGE_USERS = 4
    """Act on users."""
    READ_USERS = 8
    """Look at users."""
    MANAGE_STREAMS = 16
    """Act on every stream."""
    READ_STREAMS = 32
    """Look at every stream."""
    MANAGE_TOPICS = 64
    """Act on every topic."""
    READ_TOPICS = 128
    """Look at every topic."""
    POLL_MESSAGES = 256
    """Poll from every topic."""
    SEND_MESSAGES = 512
    """Send to every topic."""


class StreamFlag(IntFlag):
    """Flags that a user holds in a stream, in the order of a permission block."""

    MANAGE_STREAM = 1
    """Act on the stream."""
    READ_STREAM = 2
    """Look at the stream."""
    MANAGE_TOPICS = 4
    """Act on every topic of the stream."""
    READ_TOPICS = 8
    """Look at every topic of the stream."""
    POLL_MESSAGES = 16
    """Poll from every topic of the stream."""
    SEND_MESSAGES = 32
    """Send to every topic of the stream."""


class TopicFlag(IntFlag):
    """Flags that a user holds in a topic, in the order of a permission block."""

    MANAGE_TOPIC = 1
    """Act on the topic."""
    READ_TOPIC = 2
    """Look at the topic."""
    POLL_MESSAGES = 4
    """Poll from the topic."""
    SEND_MESSAGES = 8
    """Send to the topic."""


class Transport(IntEnum):
    """The transport of a client."""

    TCP = 1
    """Plain TCP or TLS over it."""
    QUIC = 2
    """QUIC."""
    HTTP = 3
    """HTTP."""
    WEBSOCKET = 4
    """WebSocket, plain or over TLS."""


class FrameVariant(IntEnum):
    """Kinds of frames in the mailboxes between shards."""

    CLIENT_REQUEST = 0
    """A client's request, to the shard that serves it."""
    CLIENT_ANSWER = 1
    """The answer, to the shard of the connection."""
    HAND_OVER = 2
    """An accepted descriptor, to the shard that will serve it."""
    CONNECTION_CLOSED = 3
    """The end of a connection, to the registry of clients."""
    SESSION_ENDED = 4
    """The end of a session, to the shard of the connection."""
    PARTITION_REQUEST = 5
    """A client's request, to the shard that owns the partition."""
    ROWS = 6
    """Changed rows of the metadata, to a mirror."""
    MIRRORED = 7
    """The confirmation of a mirror that it has the rows."""
    ORDERS = 8
    """Reconcile operations of the control plane for the partitions of a shard."""
    FATES = 9
    """Outcomes of reconcile operations."""
    OBSERVED = 10
    """The groups that a shard held at its start."""
    CUT = 11
    """A request of the control plane to cut a partition."""
    CUT_ENDED = 12
    """The outcome of a cut."""
    ADOPT = 13
    """A request of the control plane to adopt segments into a partition."""
    ADOPTION_ENDED = 14
    """The outcome of an adoption."""
    REPLICA_MESSAGE = 15
    """A message from another node, or from a replica to itself."""
    REPLICA_READ = 16
    """A message to another node, with a body that must be read from the journal."""


class DropReason(IntEnum):
    """Reasons why a frame between shards was dropped."""

    FULL = 0
    """The mailbox, the journal or the queue of reads had no room."""
    GONE = 1
    """The connection or request of the frame has ended."""
    MISROUTED = 2
    """The frame reached a shard that does not serve its target."""
    UNROUTABLE = 3
    """No shard serves the target."""
    STOPPING = 4
    """The server is stopping, and the receiver has finished."""
    UNWANTED = 5
    """The receiver cannot use it: it is late, damaged, or of another group."""


class CloseReason(IntEnum):
    """Reasons why the server closed a connection."""

    CLIENT_CLOSED = 0
    """The client ended the stream between two frames."""
    TRUNCATED = 1
    """The client ended the stream inside a frame."""
    IO_ERROR = 2
    """Reading or writing the socket failed."""
    LEGACY_FRAMING = 3
    """The first word of the connection belongs to the framing of older clients, or to another protocol."""
    BAD_SIZE = 4
    """A frame is shorter than its header or longer than allowed."""
    BAD_COMMAND = 5
    """A frame is not a request."""
    OVERSIZE_BEFORE_LOGIN = 6
    """A frame too long for a client without a login was refused from its header."""
    FRAME_TIMEOUT = 7
    """A frame did not arrive in full within its time."""
    SEND_TIMEOUT = 8
    """The client read no byte of a reply for `connections.send_timeout`, or less than 1 KiB per second."""
    DISPLACED = 9
    """The oldest connection without a login was closed for a new one."""
    TABLE_FULL = 10
    """No slot was free for another connection."""
    EVICTED = 11
    """The server sent an unrequested eviction, which ends the stream."""
    STOPPING = 12
    """The server is stopping."""


class ReplyOutcome(IntEnum):
    """Outcomes of a request."""

    OK = 0
    """The command was executed."""
    DENIED = 1
    """The command was refused before its execution."""
    REJECTED = 2
    """The command entered the log and failed when it was executed."""
    EVICTED = 3
    """The session ended, or the login was refused."""
    BUSY = 4
    """The command was not accepted for lack of room; the client should retry."""


class LoginOutcome(IntEnum):
    """Outcomes of a login by password."""

    OK = 0
    """A session was made."""
    REFUSED = 1
    """The credentials were refused."""
    BUSY = 2
    """The login queue was full; the client should retry."""


class MemoryPart(IntEnum):
    """Parts of the memory budget."""

    POLL_CACHE = 0
    """Batches cached for later polls."""
    POLL_READS = 1
    """Batches that current polls have read."""
    REPLIES = 2
    """Replies that are reserved, or written and not yet read by clients."""
    UNFLUSHED = 3
    """Messages in the journal but not yet in segments."""
    CONNECTIONS = 4
    """Long requests that are arriving."""
    SPARES = 5
    """Spare buffers, kept for a minute."""


class RequestClass(IntEnum):
    """Classes of requests, by cost."""

    SEND = 0
    """Sends of messages, answered when they are synced."""
    POLL = 1
    """Polls of messages."""
    OFFSET = 2
    """Consumer offsets, read or written."""
    METADATA = 3
    """Streams, topics, partitions, users and groups, read or changed."""
    SESSION = 4
    """Logins and logouts."""
    OWN = 5
    """Pings, and information about the server and its clients."""


class ExitStatus(IntEnum):
    """The exit status of the daemon."""

    CLEAN = 0
    """Stopped in order, on request."""
    DAMAGED_DATA = 65
    """Stored data is damaged beyond what can be repaired without losing acknowledged records."""
    INTERNAL_FAULT = 70
    """A thread detected an impossible state, so the process stopped."""
    JOURNAL_IO = 74
    """The journal could not be written or synced, so nothing more may be acknowledged."""
    UNCLEAN_STOP = 75
    """Stopped before all requests in progress had ended."""
    CONFIGURATION = 78
    """The configuration is invalid, or this machine cannot satisfy it."""


class ToPython(IntEnum):
    """Kinds of records that the engine sends."""

    LOGIN = 1
    """A password to verify. Body: username, password, peer address (strings)."""
    STARTED = 2
    """Every shard runs. No body."""
    START_FAILED = 3
    """The start failed; running shards are stopped. The shard is 65535 if no shard is the cause. Body:
    exit status (u8), reason (string)."""
    STOPPED = 4
    """Every shard has stopped. Body: 1 if all of them stopped in order, 0 if something was cut off (u8)."""
    NATIVE_EVENT = 5
    """An event. Body: event code (u16), its two numbers (u64), wall time in microseconds (u64)."""
    PROGRESS = 6
    """Progress of a start. Body: a phrase (string)."""
    ROWS = 7
    """Rows of the metadata at the operation of the token. Body: 1 on the last piece of a state, else 0
    (u8); rows as deltas. The piece that follows a last one begins another state."""
    APPLY = 8
    """A committed operation of the metadata, whose number is the token. Body: timestamp in microseconds
    (u64), client (u128), operation (u8), user id (u32), the client's bytes."""
    CAUGHT_UP = 9
    """All operations that the journal held at the start have been sent. No body."""
    RECONCILED = 10
    """Answers to reconcile operations, under the pass that gave them. Body: kind (u8), group (u64),
    outcome (u8), repeated."""
    OBSERVED = 11
    """Groups that a shard held at its start. Body: 1 on the last piece, else 0 (u8); group (u64), state
    (u8), repeated."""
    CUT = 12
    """The end of a cut, under its token. Body: 1 on the last piece, else 0 (u8); the end (u8). After
    `done`: purge generation and last offset (u64, all ones for none), then for each segment first and
    last offset, least and greatest timestamp, bytes (u64), messages, generation (u32), footer (u128).
    After `failed` and `full`: the reason (string)."""
    ADOPTED = 13
    """The end of an adoption, under its token. Body: the end (u8), reason (string; empty unless it
    failed)."""
    ENRICH = 14
    """A command that needs a hash before the log takes it, under its ticket. Body: operation (u8), user
    id (u32), what the client wrote."""
    SESSION = 15
    """A session opened or ended; the token counts these records, so that one without room shows. Body:
    which of the two (u8), the reason of an eviction, else 0 (u8), session (u64), client (u128), user id
    (u32), peer address (string)."""


class FromPython(IntEnum):
    """Kinds of records that Python sends."""

    LOGIN_VERDICT = 1
    """The verdict on a login, under its token. Body: verdict (u8), user id (u32)."""
    HOST_FIGURES = 2
    """Figures of the host, for statistics. Body: two usages of processors (f32), memory used, total and
    available, bytes read and written (u64), threads (u32), free and total disk space (u64), hostname,
    name and version of the system, version of the kernel (strings)."""
    OPEN_DOORS = 3
    """Clients may connect. No body."""
    APPLIED = 4
    """The result of an operation, whose number is the token. Body: error code or 0 (u32), kind of reply
    (u8), stream, topic (u32), revision (u64), deltas. The user of a reply stands in the place of the
    stream."""
    RECONCILE = 5
    """Operations for a shard, under the pass of the token. Body: kind (u8), group (u64), purge generation
    (u64), repeated."""
    CONVERGED = 6
    """Every shard has reached the revision of the token. No body."""
    APPLIED_PART = 7
    """The first deltas of the `applied` record that follows, whose body would be too long for the ring
    with them. Body: some bytes of them."""
    CUT = 8
    """Cut a partition of a shard. Body: group (u64), the whole path of the directory for the names of its
    segments."""
    ADOPT = 9
    """Adopt segments into a partition of a shard. Body: group (u64), bytes of the swap (u32), the swap,
    the whole path of the directory with the files."""
    PROPOSE = 10
    """Puts an operation of the cluster itself into the metadata's log, if that takes it now. Body:
    operation (u8), its body."""
    ENRICHED = 11
    """The answer to an `enrich` record, under its ticket. Body: error code or 0 (u32), the body that goes
    into the log."""


class FaultKind(IntEnum):
    """Kinds of records by which tests ask for a fault."""

    PANIC = 65280
    """The shard of the record panics. No body."""
    STALL = 65281
    """The shard of the record blocks for a while. Body: milliseconds (u64)."""
    MISROUTE = 65282
    """The next request for a partition that reaches the shard from another one names a wrong receiver. No
    body."""


class SessionChange(IntEnum):
    """What became of a session."""

    OPENED = 0
    """It was made by a login."""
    ENDED = 1
    """Its client logged out, or closed the connection."""
    EVICTED = 2
    """The server ended it."""


class Verdict(IntEnum):
    """The answer of authentication to a login."""

    ACCEPTED = 0
    """The password belongs to the user, who may log in."""
    REFUSED = 1
    """The password does not belong to the user, or the user may not log in."""
    BUSY = 2
    """Not verified, because too many logins wait."""
    THROTTLED = 3
    """Not verified, because too many logins by this address for this name have failed."""


class ReplyKind(IntEnum):
    """Contents of the reply to a metadata operation."""

    EMPTY = 0
    """Nothing."""
    STREAM = 1
    """A stream."""
    TOPIC = 2
    """A topic with its partitions."""
    USER = 3
    """A user with its permissions."""


class ReconcileKind(IntEnum):
    """Reconcile operations of a shard for a group."""

    INSERT_OWNED = 1
    """The owner opens the group's log."""
    INSERT_ROUTED = 2
    """Any shard: requests may go to the owner of the group."""
    REMOVE_ROUTED = 3
    """Any shard: no more requests to the group. The owner also fences the group and starts to remove its
    files. It keeps a tombstone until they are deleted."""
    CONFIRM_REMOVE = 4
    """The owner forgets the tombstone."""
    PURGE = 5
    """The owner drops every message, once per purge generation."""


class ReconcileOutcome(IntEnum):
    """Outcomes of a reconcile operation."""

    DONE = 0
    """The shard has applied it."""
    REMOVED = 1
    """The files of a tombstone are deleted. Sent some time after the operation, or at once if there were
    no files."""
    FAILED = 2
    """It failed; the operation may be sent again."""
    BUSY = 3
    """There was no room; the operation may be sent again."""
    UNKNOWN_GROUP = 4
    """The shard has no such group."""


class HeldState(IntEnum):
    """State of a group on a shard that starts."""

    OWNED = 1
    """The group is open."""
    TOMBSTONE = 2
    """Only files are left, and must be removed."""


class CutEnd(IntEnum):
    """Outcomes of a cut."""

    DONE = 0
    """Every segment got its second name."""
    BUSY = 1
    """The partition is not ready yet; the cut may be sent again."""
    NO_GROUP = 2
    """The shard has no such group."""
    FAILED = 3
    """It failed, with a reason."""
    FULL = 4
    """The messages of the cut cannot be written to segments now, with a reason; the cut may be sent
    again."""


class AdoptionEnd(IntEnum):
    """Outcomes of an adoption."""

    DONE = 0
    """The new segments have replaced the old ones."""
    BUSY = 1
    """The partition is not ready yet, or adopts others; the adoption may be sent again."""
    NO_GROUP = 2
    """The shard has no such group."""
    FAILED = 3
    """It failed, with a reason."""
    FENCED = 4
    """The segments to replace were removed, or replaced by others."""
    CLUSTER = 5
    """Other nodes have the partition, too, and not the files."""
    UNSOUND = 6
    """The swap contradicts itself."""


class Columns(IntFlag):
    """Columns of messages, one bit each."""

    KEY = 1
    """The key, by the rule of the selection; null without one."""
    VALUE = 2
    """The payload."""
    OFFSET = 4
    """The offset."""
    TIMESTAMP = 8
    """The time of the append."""
    ORIGIN = 16
    """The time at which the producer created it."""
    ID = 32
    """Its id, 16 bytes, most significant first."""
    HEADERS = 64
    """The user headers as a list; null if they cannot be decoded."""
    TOMBSTONE = 128
    """Whether the message deletes its key: header `tombstone` is true, or the payload is empty."""
    USER_HEADERS = 256
    """The user headers, undecoded."""


class Place(IntEnum):
    """The buffers of an arena, by their numbers."""

    OFFSET = 0
    """Offsets."""
    TIMESTAMP = 1
    """Times of the append."""
    ORIGIN = 2
    """Times of the producer."""
    ID_ENDS = 3
    """Ends of the ids."""
    ID = 4
    """Ids."""
    VALUE_ENDS = 5
    """Ends of the payloads."""
    VALUE = 6
    """Payloads."""
    KEY_VALID = 7
    """Validity of the keys, one bit each."""
    KEY_ENDS = 8
    """Ends of the keys."""
    KEY = 9
    """Keys."""
    TOMBSTONE = 10
    """Tombstones, one bit per message."""
    USER_HEADERS_ENDS = 11
    """Ends of the undecoded user headers."""
    USER_HEADERS = 12
    """Undecoded user headers."""
    HEADERS_VALID = 13
    """Validity of the lists of user headers, one bit each."""
    HEADERS_ENDS = 14
    """Ends of the lists, in headers."""
    HEADER_KEY_ENDS = 15
    """Ends of the names of headers."""
    HEADER_KEY = 16
    """Names of headers."""
    HEADER_KIND = 17
    """Kinds of headers."""
    HEADER_VALUE_ENDS = 18
    """Ends of the values of headers."""
    HEADER_VALUE = 19
    """Values of headers."""


class Stop(IntEnum):
    """Reasons why a call that reads batches ended."""

    END = 0
    """At the end."""
    MORE = 1
    """More bytes are needed."""
    FULL = 2
    """No room is left for a message, or the table must grow."""
    DAMAGED = 3
    """At damage, which a sentence explains."""


class Halt(IntEnum):
    """Reasons why a comparison of slices with the whole segment ended."""

    END = 0
    """All of them were found."""
    SLICES = 1
    """More bytes of the slices are needed."""
    WHOLE = 2
    """More bytes of the whole segment are needed."""
    WHOLE_ENDED = 3
    """The whole segment is at its end."""
    FOREIGN = 4
    """A batch is damaged, or not in the whole segment; a sentence names it."""


class UserStatus(IntEnum):
    """Whether a user may log in."""

    ACTIVE = 1
    """May log in."""
    INACTIVE = 2
    """May not."""


class FieldKind(IntEnum):
    """How a field of a row is encoded."""

    U64 = 0
    """Eight bytes."""
    USER_STATUS = 1
    """A byte, the code of a status."""
    NAME8 = 2
    """A byte of length, then 1 to 255 bytes of UTF-8."""
    BYTES32 = 3
    """Four bytes of length, then that many bytes."""


class ValueKind(IntEnum):
    """Kinds of stored option values. A client may send others."""

    TEXT = 2
    BOOL = 3
    U32 = 11
    U64 = 12


class UserFields(NamedTuple):
    """A user."""

    created_at: int
    """When it was created, in microseconds since the epoch."""
    status: UserStatus
    """Whether the user may log in."""
    name: str
    """The name, of 3 to 50 bytes."""
    password_hash: bytes
    """The encoded Argon2id hash of the password."""
    hash_epoch: int
    """How often the password was changed."""
    permissions: bytes
    """The permissions as clients send them; empty without any."""
    options: bytes
    """The options, as a block."""


USER_FIELD_KINDS: Final[tuple[FieldKind, ...]] = (
    FieldKind.U64,
    FieldKind.USER_STATUS,
    FieldKind.NAME8,
    FieldKind.BYTES32,
    FieldKind.U64,
    FieldKind.BYTES32,
    FieldKind.BYTES32,
)


@dataclass(frozen=True, slots=True)
class CommandRow:
    """The plane of a command, and its requirement."""

    code: Command
    name: str
    operation: Operation
    plane: Literal["local", "metadata", "partition", "register"]
    requirement: Requirement


@dataclass(frozen=True, slots=True)
class RequirementRow:
    """A requirement of commands, and its flags. Any one of them is enough."""

    requirement: Requirement
    global_flags: tuple[GlobalFlag, ...]
    stream_flags: tuple[StreamFlag, ...]
    topic_flags: tuple[TopicFlag, ...]


@dataclass(frozen=True, slots=True)
class LabelRow:
    """A label of a metric and its values in the order of their cells."""

    name: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ScaleRow:
    """Buckets of a histogram: their bounds in small units, and the number of small units per displayed unit."""

    per_unit: int
    bounds: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class MetricRow:
    """A metric of a shard. Its cells begin at `first_cell`; the last label varies fastest."""

    id: int
    name: str
    kind: Literal["counter", "gauge", "histogram"]
    help: str
    labels: tuple[LabelRow, ...]
    first_cell: int
    scale: ScaleRow | None = None


@dataclass(frozen=True, slots=True)
class EventRow:
    """An event of the native side; `fields` name the numbers in its record."""

    code: int
    name: str
    level: Literal["debug", "info", "warning", "error"]
    message: str
    fields: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ExitRow:
    """An exit status and its meaning."""

    status: ExitStatus
    name: str
    sentence: str


@dataclass(frozen=True, slots=True)
class TopicOptionRow:
    """An option of a topic and its default; a flag has 0 or 1."""

    key: str
    kind: ValueKind
    default: str | int
    updatable: bool


COMMANDS: Final[tuple[CommandRow, ...]] = (
    CommandRow(Command.PING, "ping", Operation.NON_REPLICATED, "local", Requirement.NOTHING),
    CommandRow(Command.STATS, "stats", Operation.NON_REPLICATED, "local", Requirement.READ_SERVERS),
    CommandRow(Command.SNAPSHOT, "snapshot", Operation.NON_REPLICATED, "local", Requirement.READ_SERVERS),
    CommandRow(
        Command.CLUSTER_METADATA,
        "cluster.metadata",
        Operation.NON_REPLICATED,
        "local",
        Requirement.SESSION,
    ),
    CommandRow(
        Command.DESCRIBE_OPTIONS,
        "options.describe",
        Operation.NON_REPLICATED,
        "local",
        Requirement.SESSION,
    ),
    CommandRow(
        Command.ATTACH_CONSUMER_SESSION,
        "consumer_session.attach",
        Operation.NON_REPLICATED,
        "local",
        Requirement.SESSION,
    ),
    CommandRow(Command.GET_ME, "me", Operation.NON_REPLICATED, "local", Requirement.SESSION),
    CommandRow(Command.GET_CLIENT, "client.get", Operation.NON_REPLICATED, "local", Requirement.READ_SERVERS),
    CommandRow(
        Command.GET_CLIENTS,
        "client.list",
        Operation.NON_REPLICATED,
        "local",
        Requirement.READ_SERVERS,
    ),
    CommandRow(
        Command.GET_USER,
        "user.get",
        Operation.NON_REPLICATED,
        "local",
        Requirement.READ_USERS_OR_SELF,
    ),
    CommandRow(Command.GET_USERS, "user.list", Operation.NON_REPLICATED, "local", Requirement.READ_USERS),
    CommandRow(
        Command.CREATE_USER,
        "user.create",
        Operation.CREATE_USER,
        "metadata",
        Requirement.MANAGE_USERS,
    ),
    CommandRow(
        Command.DELETE_USER,
        "user.delete",
        Operation.DELETE_USER,
        "metadata",
        Requirement.MANAGE_USERS,
    ),
    CommandRow(
        Command.UPDATE_USER,
        "user.update",
        Operation.UPDATE_USER,
        "metadata",
        Requirement.MANAGE_USERS,
    ),
    CommandRow(
        Command.UPDATE_PERMISSIONS,
        "user.permissions",
        Operation.UPDATE_PERMISSIONS,
        "metadata",
        Requirement.MANAGE_USERS,
    ),
    CommandRow(
        Command.CHANGE_PASSWORD,
        "user.password",
        Operation.CHANGE_PASSWORD,
        "metadata",
        Requirement.MANAGE_USERS_OR_SELF,
    ),
    CommandRow(Command.LOGIN_USER, "user.login", Operation.NON_REPLICATED, "local", Requirement.CREDENTIALS),
    CommandRow(Command.LOGOUT, "user.logout", Operation.LOGOUT, "metadata", Requirement.SESSION),
    CommandRow(
        Command.LOGIN_REGISTER,
        "user.login_register",
        Operation.REGISTER,
        "register",
        Requirement.CREDENTIALS,
    ),
    CommandRow(
        Command.GET_PERSONAL_ACCESS_TOKENS,
        "personal_access_token.list",
        Operation.NON_REPLICATED,
        "local",
        Requirement.SESSION,
    ),
    CommandRow(
        Command.CREATE_PERSONAL_ACCESS_TOKEN,
        "personal_access_token.create",
        Operation.CREATE_PERSONAL_ACCESS_TOKEN,
        "metadata",
        Requirement.SESSION,
    ),
    CommandRow(
        Command.DELETE_PERSONAL_ACCESS_TOKEN,
        "personal_access_token.delete",
        Operation.DELETE_PERSONAL_ACCESS_TOKEN,
        "metadata",
        Requirement.SESSION,
    ),
    CommandRow(
        Command.LOGIN_WITH_PERSONAL_ACCESS_TOKEN,
        "personal_access_token.login",
        Operation.NON_REPLICATED,
        "local",
        Requirement.CREDENTIALS,
    ),
    CommandRow(
        Command.LOGIN_REGISTER_WITH_TOKEN,
        "user.login_register_with_pat",
        Operation.REGISTER,
        "register",
        Requirement.CREDENTIALS,
    ),
    CommandRow(
        Command.POLL_MESSAGES,
        "message.poll",
        Operation.NON_REPLICATED,
        "local",
        Requirement.POLL_MESSAGES,
    ),
    CommandRow(
        Command.SEND_MESSAGES,
        "message.send",
        Operation.SEND_MESSAGES,
        "partition",
        Requirement.SEND_MESSAGES,
    ),
    CommandRow(
        Command.FLUSH_UNSAVED_BUFFER,
        "message.flush_unsaved_buffer",
        Operation.NON_REPLICATED,
        "local",
        Requirement.SESSION,
    ),
    CommandRow(
        Command.POLL_ROUTING,
        "message.poll_routing",
        Operation.NON_REPLICATED,
        "local",
        Requirement.POLL_MESSAGES,
    ),
    CommandRow(
        Command.POLL_PRIMARY,
        "message.poll_primary",
        Operation.NON_REPLICATED,
        "local",
        Requirement.POLL_MESSAGES,
    ),
    CommandRow(
        Command.GET_CONSUMER_OFFSET,
        "consumer_offset.get",
        Operation.NON_REPLICATED,
        "local",
        Requirement.POLL_MESSAGES,
    ),
    CommandRow(
        Command.STORE_CONSUMER_OFFSET,
        "consumer_offset.store",
        Operation.STORE_CONSUMER_OFFSET,
        "partition",
        Requirement.POLL_MESSAGES,
    ),
    CommandRow(
        Command.DELETE_CONSUMER_OFFSET,
        "consumer_offset.delete",
        Operation.DELETE_CONSUMER_OFFSET,
        "partition",
        Requirement.POLL_MESSAGES,
    ),
    CommandRow(
        Command.OFFSET_ROUTING,
        "consumer_offset.routing",
        Operation.NON_REPLICATED,
        "local",
        Requirement.POLL_MESSAGES,
    ),
    CommandRow(Command.GET_STREAM, "stream.get", Operation.NON_REPLICATED, "local", Requirement.READ_STREAM),
    CommandRow(
        Command.GET_STREAMS,
        "stream.list",
        Operation.NON_REPLICATED,
        "local",
        Requirement.READ_STREAMS,
    ),
    CommandRow(
        Command.CREATE_STREAM,
        "stream.create",
        Operation.CREATE_STREAM,
        "metadata",
        Requirement.MANAGE_STREAMS,
    ),
    CommandRow(
        Command.DELETE_STREAM,
        "stream.delete",
        Operation.DELETE_STREAM,
        "metadata",
        Requirement.MANAGE_STREAM,
    ),
    CommandRow(
        Command.UPDATE_STREAM,
        "stream.update",
        Operation.UPDATE_STREAM,
        "metadata",
        Requirement.MANAGE_STREAM,
    ),
    CommandRow(
        Command.PURGE_STREAM,
        "stream.purge",
        Operation.PURGE_STREAM,
        "metadata",
        Requirement.MANAGE_STREAM,
    ),
    CommandRow(Command.GET_TOPIC, "topic.get", Operation.NON_REPLICATED, "local", Requirement.READ_TOPIC),
    CommandRow(Command.GET_TOPICS, "topic.list", Operation.NON_REPLICATED, "local", Requirement.READ_TOPICS),
    CommandRow(
        Command.CREATE_TOPIC,
        "topic.create",
        Operation.CREATE_TOPIC,
        "metadata",
        Requirement.MANAGE_TOPICS,
    ),
    CommandRow(
        Command.DELETE_TOPIC,
        "topic.delete",
        Operation.DELETE_TOPIC,
        "metadata",
        Requirement.MANAGE_TOPIC,
    ),
    CommandRow(
        Command.UPDATE_TOPIC,
        "topic.update",
        Operation.UPDATE_TOPIC,
        "metadata",
        Requirement.MANAGE_TOPIC,
    ),
    CommandRow(
        Command.PURGE_TOPIC,
        "topic.purge",
        Operation.PURGE_TOPIC,
        "metadata",
        Requirement.MANAGE_TOPIC,
    ),
    CommandRow(
        Command.CREATE_PARTITIONS,
        "partition.create",
        Operation.CREATE_PARTITIONS,
        "metadata",
        Requirement.MANAGE_TOPIC,
    ),
    CommandRow(
        Command.DELETE_PARTITIONS,
        "partition.delete",
        Operation.DELETE_PARTITIONS,
        "metadata",
        Requirement.MANAGE_TOPIC,
    ),
    CommandRow(
        Command.DELETE_SEGMENTS,
        "segment.delete",
        Operation.DELETE_SEGMENTS,
        "metadata",
        Requirement.MANAGE_TOPIC,
    ),
    CommandRow(
        Command.GET_CONSUMER_GROUP,
        "consumer_group.get",
        Operation.NON_REPLICATED,
        "local",
        Requirement.READ_TOPIC,
    ),
    CommandRow(
        Command.GET_CONSUMER_GROUPS,
        "consumer_group.list",
        Operation.NON_REPLICATED,
        "local",
        Requirement.READ_TOPIC,
    ),
    CommandRow(
        Command.CREATE_CONSUMER_GROUP,
        "consumer_group.create",
        Operation.CREATE_CONSUMER_GROUP,
        "metadata",
        Requirement.READ_TOPIC,
    ),
    CommandRow(
        Command.DELETE_CONSUMER_GROUP,
        "consumer_group.delete",
        Operation.DELETE_CONSUMER_GROUP,
        "metadata",
        Requirement.READ_TOPIC,
    ),
    CommandRow(
        Command.JOIN_CONSUMER_GROUP,
        "consumer_group.join",
        Operation.JOIN_CONSUMER_GROUP,
        "metadata",
        Requirement.READ_TOPIC,
    ),
    CommandRow(
        Command.LEAVE_CONSUMER_GROUP,
        "consumer_group.leave",
        Operation.LEAVE_CONSUMER_GROUP,
        "metadata",
        Requirement.READ_TOPIC,
    ),
    CommandRow(
        Command.SYNC_CONSUMER_GROUP,
        "consumer_group.sync",
        Operation.NON_REPLICATED,
        "local",
        Requirement.SESSION,
    ),
)

REQUIREMENTS: Final[tuple[RequirementRow, ...]] = (
    RequirementRow(Requirement.NOTHING, (), (), ()),
    RequirementRow(Requirement.CREDENTIALS, (), (), ()),
    RequirementRow(Requirement.SESSION, (), (), ()),
    RequirementRow(Requirement.READ_SERVERS, (GlobalFlag.MANAGE_SERVERS, GlobalFlag.READ_SERVERS), (), ()),
    RequirementRow(Requirement.READ_USERS, (GlobalFlag.MANAGE_USERS, GlobalFlag.READ_USERS), (), ()),
    RequirementRow(Requirement.READ_USERS_OR_SELF, (GlobalFlag.MANAGE_USERS, GlobalFlag.READ_USERS), (), ()),
    RequirementRow(Requirement.MANAGE_USERS, (GlobalFlag.MANAGE_USERS,), (), ()),
    RequirementRow(Requirement.MANAGE_USERS_OR_SELF, (GlobalFlag.MANAGE_USERS,), (), ()),
    RequirementRow(Requirement.READ_STREAMS, (GlobalFlag.MANAGE_STREAMS, GlobalFlag.READ_STREAMS), (), ()),
    RequirementRow(
        Requirement.READ_STREAM,
        (GlobalFlag.MANAGE_STREAMS, GlobalFlag.READ_STREAMS),
        (StreamFlag.MANAGE_STREAM, StreamFlag.READ_STREAM),
        (),
    ),
    RequirementRow(Requirement.MANAGE_STREAMS, (GlobalFlag.MANAGE_STREAMS,), (), ()),
    RequirementRow(Requirement.MANAGE_STREAM, (GlobalFlag.MANAGE_STREAMS,), (StreamFlag.MANAGE_STREAM,), ()),
    RequirementRow(
        Requirement.READ_TOPICS,
        (
            GlobalFlag.READ_STREAMS,
            GlobalFlag.MANAGE_STREAMS,
            GlobalFlag.MANAGE_TOPICS,
            GlobalFlag.READ_TOPICS,
        ),
        (StreamFlag.MANAGE_STREAM, StreamFlag.READ_STREAM, StreamFlag.MANAGE_TOPICS, StreamFlag.READ_TOPICS),
        (),
    ),
    RequirementRow(
        Requirement.READ_TOPIC,
        (
            GlobalFlag.READ_STREAMS,
            GlobalFlag.MANAGE_STREAMS,
            GlobalFlag.MANAGE_TOPICS,
            GlobalFlag.READ_TOPICS,
        ),
        (StreamFlag.MANAGE_STREAM, StreamFlag.READ_STREAM, StreamFlag.MANAGE_TOPICS, StreamFlag.READ_TOPICS),
        (TopicFlag.MANAGE_TOPIC, TopicFlag.READ_TOPIC),
    ),
    RequirementRow(
        Requirement.MANAGE_TOPICS,
        (GlobalFlag.MANAGE_STREAMS, GlobalFlag.MANAGE_TOPICS),
        (StreamFlag.MANAGE_STREAM, StreamFlag.MANAGE_TOPICS),
        (),
    ),
    RequirementRow(
        Requirement.MANAGE_TOPIC,
        (GlobalFlag.MANAGE_STREAMS, GlobalFlag.MANAGE_TOPICS),
        (StreamFlag.MANAGE_STREAM, StreamFlag.MANAGE_TOPICS),
        (TopicFlag.MANAGE_TOPIC,),
    ),
    RequirementRow(
        Requirement.POLL_MESSAGES,
        (
            GlobalFlag.POLL_MESSAGES,
            GlobalFlag.READ_TOPICS,
            GlobalFlag.MANAGE_TOPICS,
            GlobalFlag.READ_STREAMS,
            GlobalFlag.MANAGE_STREAMS,
        ),
        (
            StreamFlag.POLL_MESSAGES,
            StreamFlag.READ_TOPICS,
            StreamFlag.MANAGE_TOPICS,
            StreamFlag.READ_STREAM,
            StreamFlag.MANAGE_STREAM,
        ),
        (TopicFlag.POLL_MESSAGES, TopicFlag.READ_TOPIC, TopicFlag.MANAGE_TOPIC),
    ),
    RequirementRow(
        Requirement.SEND_MESSAGES,
        (GlobalFlag.SEND_MESSAGES, GlobalFlag.MANAGE_STREAMS, GlobalFlag.MANAGE_TOPICS),
        (StreamFlag.SEND_MESSAGES, StreamFlag.MANAGE_STREAM, StreamFlag.MANAGE_TOPICS),
        (TopicFlag.SEND_MESSAGES, TopicFlag.MANAGE_TOPIC),
    ),
)

METRICS: Final[tuple[MetricRow, ...]] = (
    MetricRow(
        0,
        "frame_drops_total",
        "counter",
        "Frames between shards and messages between nodes that were refused or not delivered.",
        (
            LabelRow(
                "variant",
                (
                    "client_request",
                    "client_answer",
                    "hand_over",
                    "connection_closed",
                    "session_ended",
                    "partition_request",
                    "rows",
                    "mirrored",
                    "orders",
                    "fates",
                    "observed",
                    "cut",
                    "cut_ended",
                    "adopt",
                    "adoption_ended",
                    "replica_message",
                    "replica_read",
                ),
            ),
            LabelRow("reason", ("full", "gone", "misrouted", "unroutable", "stopping", "unwanted")),
        ),
        0,
    ),
    MetricRow(1, "connections_accepted_total", "counter", "Connections accepted.", (), 102),
    MetricRow(
        2,
        "connection_closes_total",
        "counter",
        "Connections closed, by reason.",
        (
            LabelRow(
                "reason",
                (
                    "client_closed",
                    "truncated",
                    "io_error",
                    "legacy_framing",
                    "bad_size",
                    "bad_command",
                    "oversize_before_login",
                    "frame_timeout",
                    "send_timeout",
                    "displaced",
                    "table_full",
                    "evicted",
                    "stopping",
                ),
            ),
        ),
        103,
    ),
    MetricRow(3, "connections_open", "gauge", "Open connections.", (), 116),
    MetricRow(
        4,
        "connections_unauthenticated",
        "gauge",
        "Open connections that have not logged in.",
        (),
        117,
    ),
    MetricRow(5, "sessions_open", "gauge", "Open sessions.", (), 118),
    MetricRow(6, "requests_total", "counter", "Requests received in full.", (), 119),
    MetricRow(
        7,
        "replies_total",
        "counter",
        "Replies sent, by outcome of the request.",
        (LabelRow("outcome", ("ok", "denied", "rejected", "evicted", "busy")),),
        120,
    ),
    MetricRow(8, "bytes_received_total", "counter", "Bytes received from clients.", (), 125),
    MetricRow(9, "bytes_sent_total", "counter", "Bytes sent to clients.", (), 126),
    MetricRow(
        10,
        "accept_pauses_total",
        "counter",
        "Accept pauses caused by a lack of file descriptors or connection slots.",
        (),
        127,
    ),
    MetricRow(
        11,
        "mailbox_entries_total",
        "counter",
        "Frames taken from the mailboxes of other shards.",
        (),
        128,
    ),
    MetricRow(12, "doorbells_total", "counter", "Wake-ups of a sleeping shard by another shard.", (), 129),
    MetricRow(13, "shard_turns_total", "counter", "Turns of the shard's loop.", (), 130),
    MetricRow(14, "io_syscalls_total", "counter", "System calls for I/O by the shard's thread.", (), 131),
    MetricRow(15, "io_operations_total", "counter", "I/O operations completed.", (), 132),
    MetricRow(
        16,
        "logins_total",
        "counter",
        "Logins by password, by outcome.",
        (LabelRow("outcome", ("ok", "refused", "busy")),),
        133,
    ),
    MetricRow(
        17,
        "log_events_lost_total",
        "counter",
        "Events of the native side lost because their ring was full.",
        (),
        136,
    ),
    MetricRow(
        18,
        "record_ring_full_total",
        "counter",
        "Times a record ring between the first shard and the control plane became full.",
        (),
        137,
    ),
    MetricRow(
        19,
        "request_seconds",
        "histogram",
        "Request latency, from the last byte received to the reply, by class.",
        (LabelRow("class", ("send", "poll", "offset", "metadata", "session", "own")),),
        138,
        ScaleRow(
            1000000,
            (
                50,
                100,
                200,
                300,
                500,
                1000,
                2000,
                3000,
                5000,
                10000,
                20000,
                50000,
                100000,
                200000,
                500000,
                1000000,
                5000000,
            ),
        ),
    ),
    MetricRow(
        20,
        "journal_sync_seconds",
        "histogram",
        "Time to write and sync a block of the journal, or to complete a requested sync.",
        (),
        252,
        ScaleRow(
            1000000,
            (
                50,
                100,
                200,
                300,
                500,
                1000,
                2000,
                3000,
                5000,
                10000,
                20000,
                50000,
                100000,
                200000,
                500000,
                1000000,
                5000000,
            ),
        ),
    ),
    MetricRow(
        21,
        "journal_block_bytes",
        "histogram",
        "Size of each journal block, the unit that is written and synced at once.",
        (),
        271,
        ScaleRow(1, (4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864)),
    ),
    MetricRow(22, "messages_appended_total", "counter", "Messages acknowledged to their producers.", (), 281),
    MetricRow(23, "message_bytes_appended_total", "counter", "Bytes of acknowledged batches.", (), 282),
    MetricRow(24, "messages_polled_total", "counter", "Messages returned by polls.", (), 283),
    MetricRow(25, "message_bytes_polled_total", "counter", "Bytes of messages returned by polls.", (), 284),
    MetricRow(
        26,
        "partition_requests_waiting",
        "gauge",
        "Requests for partitions that wait for a replicated log or a disk.",
        (),
        285,
    ),
    MetricRow(
        27,
        "mailbox_entries_waiting",
        "gauge",
        "Frames from other shards that wait in mailboxes.",
        (),
        286,
    ),
    MetricRow(
        28,
        "unflushed_bytes",
        "gauge",
        "Bytes of messages in the journal but not yet in segments.",
        (),
        287,
    ),
    MetricRow(
        29,
        "segment_writes_put_off_total",
        "counter",
        "Writes to segments postponed for lack of disk space or file descriptors.",
        (),
        288,
    ),
    MetricRow(30, "groups_open", "gauge", "Open replication groups, including the metadata group.", (), 289),
    MetricRow(31, "journal_files", "gauge", "Files of the journal.", (), 290),
    MetricRow(32, "journal_live_bytes", "gauge", "Bytes of the journal that cannot be reused yet.", (), 291),
    MetricRow(
        33,
        "journal_live_bytes_max",
        "gauge",
        "Limit of journal_live_bytes, above which requests are rejected.",
        (),
        292,
    ),
    MetricRow(34, "damaged_polls_total", "counter", "Polls that found damaged or missing messages.", (), 293),
    MetricRow(
        35,
        "damaged_partitions",
        "gauge",
        "Partitions with damaged or lost messages. `/ready` names them.",
        (),
        294,
    ),
    MetricRow(
        36,
        "early_acknowledgements_total",
        "counter",
        "Requests acknowledged at TCP level from their first bytes, because a client with Nagle's algorithm waits for that.",
        (),
        295,
    ),
    MetricRow(
        37,
        "trash_bytes",
        "gauge",
        "Bytes of deleted topics and partitions not yet deleted from the disk.",
        (),
        296,
    ),
    MetricRow(
        38,
        "partitions_waiting_for_space",
        "gauge",
        "Partitions with messages in memory and in the journal that wait for disk space.",
        (),
        297,
    ),
    MetricRow(39, "refusing_sends", "gauge", "1 while sends are refused for lack of disk space.", (), 298),
    MetricRow(
        40,
        "sends_refused_for_space_total",
        "counter",
        "Sends refused for lack of disk space.",
        (),
        299,
    ),
    MetricRow(41, "removals_failing", "gauge", "Failed removals of files that are being retried.", (), 300),
    MetricRow(42, "damaged_ranges", "gauge", "Ranges of offsets with damaged or lost messages.", (), 301),
    MetricRow(
        43,
        "memory_budget_bytes",
        "gauge",
        "Maximum memory of each part of the budget, in bytes.",
        (LabelRow("part", ("poll_cache", "poll_reads", "replies", "unflushed", "connections", "spares")),),
        302,
    ),
    MetricRow(
        44,
        "memory_used_bytes",
        "gauge",
        "Memory used by each part of the budget, in bytes.",
        (LabelRow("part", ("poll_cache", "poll_reads", "replies", "unflushed", "connections", "spares")),),
        308,
    ),
    MetricRow(
        45,
        "polls_waiting_for_memory",
        "gauge",
        "Polls that wait for memory for their replies.",
        (),
        314,
    ),
    MetricRow(
        46,
        "metadata_answers_unconverged_total",
        "counter",
        "Replies to changes of streams and topics sent after 2 s, before every shard had converged.",
        (),
        315,
    ),
    MetricRow(
        47,
        "journal_bytes_lacking",
        "gauge",
        "Bytes of disk space that a blocked journal needs for another file; 0 while it is not blocked.",
        (),
        316,
    ),
    MetricRow(
        48,
        "login_refusals_total",
        "counter",
        "Logins refused, by reason.",
        (LabelRow("reason", ("credentials", "throttled")),),
        317,
    ),
)

EVENTS: Final[tuple[EventRow, ...]] = (
    EventRow(1, "shard_stopped", "info", "Shard {shard} stopped after {turns} turns.", ("shard", "turns")),
    EventRow(
        2,
        "accept_paused",
        "warning",
        "No connections are accepted, with {connections} connections open (errno {errno}).",
        ("connections", "errno"),
    ),
    EventRow(
        3,
        "accept_resumed",
        "info",
        "Connections are accepted again after {pause_ms} ms, with {connections} connections open.",
        ("connections", "pause_ms"),
    ),
    EventRow(
        4,
        "frame_dropped",
        "warning",
        "A frame between shards was dropped (variant {variant}, reason {reason}).",
        ("variant", "reason"),
    ),
    EventRow(
        5,
        "control_plane_stalled",
        "error",
        "The control plane has not answered for {stall_ms} ms.",
        ("stall_ms",),
    ),
    EventRow(
        6,
        "control_plane_recovered",
        "info",
        "The control plane answers again after {stall_ms} ms.",
        ("stall_ms",),
    ),
    EventRow(
        7,
        "shard_stalled",
        "error",
        "Shard {shard} has been blocked for {stall_ms} ms.",
        ("shard", "stall_ms"),
    ),
    EventRow(
        8,
        "watchdog_unreachable",
        "error",
        "Cannot notify systemd (NOTIFY_SOCKET, errno {errno}): its watchdog will kill this process.",
        ("errno",),
    ),
    EventRow(
        9,
        "answers_cut",
        "warning",
        "Shard {shard} stopped before it had sent all replies on {connections} connections.",
        ("shard", "connections"),
    ),
    EventRow(
        10,
        "messages_damaged",
        "error",
        "A poll found damaged or missing messages at offset {offset} of group {group}.",
        ("group", "offset"),
    ),
    EventRow(
        11,
        "space_short",
        "error",
        "The disk is full: {partitions} partitions and {bytes} bytes of messages wait for space, in memory and in the journal.",
        ("partitions", "bytes"),
    ),
    EventRow(
        12,
        "sends_refused_for_space",
        "error",
        "The disk is full: {sends} sends were refused since it filled, and {partitions} partitions wait for space.",
        ("sends", "partitions"),
    ),
    EventRow(
        13,
        "space_recovered",
        "info",
        "All messages are in segments again, after {short_ms} ms without space and {sends} refused sends.",
        ("short_ms", "sends"),
    ),
    EventRow(
        14,
        "removal_failed",
        "warning",
        "Files of group {group} cannot be removed (errno {errno}). This is retried.",
        ("group", "errno"),
    ),
    EventRow(15, "removals_recovered", "info", "All removals of files that had failed have succeeded.", ()),
    EventRow(
        16,
        "trash_failed",
        "warning",
        "Deleting the trash failed (errno {errno}); {bytes} bytes are left. This is retried.",
        ("errno", "bytes"),
    ),
    EventRow(
        17,
        "trash_recovered",
        "info",
        "Deleting the trash works again; {bytes} bytes are left.",
        ("bytes",),
    ),
    EventRow(
        18,
        "client_disconnected",
        "debug",
        "A logged-in client is disconnected (port {port}, close reason {reason}).",
        ("port", "reason"),
    ),
    EventRow(
        19,
        "messages_fenced",
        "error",
        "Stored messages of group {group} are lost, from offset {offset} on.",
        ("group", "offset"),
    ),
    EventRow(
        20,
        "journal_stuck",
        "error",
        "The journal needs another file of {bytes} bytes and cannot create it (errno {errno}). Make room on the file system; this is retried.",
        ("bytes", "errno"),
    ),
    EventRow(21, "journal_freed", "info", "The journal continues, with {files} files.", ("files",)),
)

EXITS: Final[tuple[ExitRow, ...]] = (
    ExitRow(ExitStatus.CLEAN, "clean", "Stopped in order, on request."),
    ExitRow(
        ExitStatus.DAMAGED_DATA,
        "damaged_data",
        "Stored data is damaged beyond what can be repaired without losing acknowledged records.",
    ),
    ExitRow(
        ExitStatus.INTERNAL_FAULT,
        "internal_fault",
        "A thread detected an impossible state, so the process stopped.",
    ),
    ExitRow(
        ExitStatus.JOURNAL_IO,
        "journal_io",
        "The journal could not be written or synced, so nothing more may be acknowledged.",
    ),
    ExitRow(ExitStatus.UNCLEAN_STOP, "unclean_stop", "Stopped before all requests in progress had ended."),
    ExitRow(
        ExitStatus.CONFIGURATION,
        "configuration",
        "The configuration is invalid, or this machine cannot satisfy it.",
    ),
)

TOPIC_OPTIONS: Final[tuple[TopicOptionRow, ...]] = (
    TopicOptionRow("compression_algorithm", ValueKind.TEXT, "none", True),
    TopicOptionRow("consumer_offset_durability", ValueKind.TEXT, "replicated", False),
    TopicOptionRow("durability", ValueKind.TEXT, "replicated", False),
    TopicOptionRow("max_topic_size", ValueKind.U64, 18446744073709551615, True),
    TopicOptionRow("message_expiry", ValueKind.U64, 18446744073709551615, True),
    TopicOptionRow("messages_required_to_save", ValueKind.U32, 1024, False),
    TopicOptionRow("preallocate_segments", ValueKind.BOOL, 0, False),
    TopicOptionRow("segment_size", ValueKind.U64, 1073741824, False),
    TopicOptionRow("size_of_messages_required_to_save", ValueKind.U64, 1048576, False),
)
