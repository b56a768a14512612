// The public API of weir.

export { Controller, type ControllerClass } from './app/controllers/controller.ts'
export {
  type DeclaredPathDecorator,
  type FitsGroup,
  type MethodDecorator,
  type NoBareMethod,
  type PathDecorator,
  Route,
  type RouteEntry,
  type RoutesDeclared,
  type RoutesOf,
  routes,
} from './app/controllers/decorators.ts'
export type { MapOptions } from './app/controllers/mapping.ts'
export type { MethodFit, Returning } from './app/controllers/method-fit.ts'
export type { OnError } from './app/dispatch.ts'
export type {
  ExplainedAnswer,
  ExplainedArgument,
  ExplainedBody,
  ExplainedClient,
  ExplainedPolicy,
  ExplainedResponse,
  ExplainedRoute,
  Explanation,
  RejectedRoute,
  Rejection,
} from './app/explain/explanation.ts'
export { Group, type RouteGroup } from './app/group.ts'
export type { Logger } from './app/logger.ts'
export type { InlineHandler, MapAny, MapMethod, Module, ModuleHost } from './app/module-host.ts'
export type { BeforeSend, Middleware, Next } from './app/policies/middleware.ts'
export type { Check, CheckedRoute, Gate, NothingOrResponse, Policy, Usable, UsedPolicy } from './app/policies/policy.ts'
export type { Binding } from './app/routes/binding.ts'
export type { Contract, Entry, EntryOptions, PathParameters } from './app/routes/contract.ts'
export type { ContractHandler, ContractHandlers, ContractOptions, HandlersFit, ServerSideOptions } from './app/routes/contract-routes.ts'
export type {
  ArgsOf,
  Below,
  BodyOption,
  BoundNames,
  Declaration,
  GroupDeclaration,
  GroupOptions,
  Merged,
  Method,
  NoDeclaration,
  OutputOf,
  Parameter,
  RouteOptions,
  StandardMethod,
} from './app/routes/declaration.ts'
export { cookie, header, type ParameterSource } from './app/routes/parameter-source.ts'
export type { AnswerOption, Answers, ResultOf } from './app/routes/route-answers.ts'
export type { PolicyListing, RouteLimits, RouteListing } from './app/routes/route-listing.ts'
export type { Level, Setting } from './app/routes/scope.ts'
export { type MetadataKey, metadataKey, type PrincipalKey, principalKey } from './app/routes/typed-keys.ts'
export type { Duration } from './base/duration.ts'
export type { ErrorCode, Fault } from './base/error-codes.ts'
export {
  BindingError,
  type BindingFailure,
  BodyAlreadyReadError,
  BodyNotBufferedError,
  CharsetError,
  ContentTypeError,
  type ConversionError,
  type ErrorHeaders,
  FileRefusedError,
  HttpError,
  InvalidBodyError,
  LimitError,
  ModelBindingError,
  PayloadTooLargeError,
  ProtocolError,
  RequestExpiredError,
  RetryLaterError,
  UnsupportedError,
  WeirError,
  type WeirErrorOptions,
} from './base/errors.ts'
export type { LimitOptions, Limits, TimeoutOptions, Timeouts } from './base/limits.ts'
export type { Size } from './base/size.ts'
export type { UnsharedBytes } from './base/unshared-bytes.ts'
export type { FormRecord } from './formats/form.ts'
export type { Pairs } from './formats/pairs.ts'
export type { ProxiedTls } from './formats/proxy-protocol.ts'
export type { ByteSource } from './http/answer/byte-source.ts'
export type { EarlyHintsOptions } from './http/answer/early-hints.ts'
export type { FileOptions } from './http/answer/file-options.ts'
export type { ResourceState } from './http/answer/precondition.ts'
export { Problem } from './http/answer/problem.ts'
export { HttpResponse } from './http/answer/response.ts'
export type { FileContent, ResponseContent, TakeOver } from './http/answer/response-content.ts'
export type { CookieOptions } from './http/answer/set-cookie.ts'
export type { TrailerSource, TrailerValue } from './http/answer/trailers.ts'
export { Bag, type BagKey, bagKey } from './http/bag.ts'
export {
  type BodyMapAnonymousOptions,
  type BodyMapOptions,
  type BodyModel,
  bodyMap,
  bodyMapAnonymous,
  type Mappable,
} from './http/body/body-map.ts'
export type { BodySettings } from './http/body/body-reader.ts'
export {
  type BytesInput,
  bytes,
  type EventData,
  type EventsBody,
  events,
  type JsonData,
  type StreamBody,
  stream,
  text,
} from './http/body/plain-body.ts'
export { form, json } from './http/body/schema-body.ts'
export type { BodyKind, TypedBody } from './http/body/typed-body.ts'
export type { CertificateName, ClientCertificate, SocketPeer } from './http/connection-info.ts'
export type { ExchangeObserver, ExchangeRecord, ExchangeStart, Outcome, RecordKind } from './http/exchange-record.ts'
export type { JsonEngine, JsonSettings, Serialize } from './http/json-engine.ts'
export { type FileField, type FileRules, file } from './http/multipart/file-field.ts'
export {
  type FileFields,
  type FilesOf,
  type MultipartBody,
  type MultipartInputOf,
  type MultipartOf,
  type MultipartShape,
  multipart,
} from './http/multipart/form-body.ts'
export type { CopyOptions, FileData, MultipartFormData, MultipartOptions, UploadedFile } from './http/multipart/multipart-form.ts'
export type { MultipartStreamOptions, UploadedFileInfo } from './http/multipart/multipart-stream.ts'
export type { RequestHeaders } from './http/request/headers.ts'
export type { HttpRequest, RouteValues } from './http/request/request.ts'
export type { RouteMetadata } from './http/route-info.ts'
export type { Endpoint, HttpSession, ServerHandle } from './http/session.ts'
export type { StopOptions } from './http/stop-options.ts'
export type { ContentPolicy, UploadInfo } from './http/uploads/content-policy.ts'
export { safeFileName } from './http/uploads/file-name.ts'
export { type SavedFile, type SavePolicy, saveTo } from './http/uploads/save-to.ts'
export { Field, type FieldDecorator, fields } from './model/fields.ts'
export type { KeyPath } from './model/key-paths.ts'
export type { ArrivalOptions, InjectPeer } from './net/connections/arrival.ts'
export type { AnswerHead } from './net/inject/answer-reader.ts'
export type { InjectResponse } from './net/inject/inject.ts'
export type { InjectRequest } from './net/inject/request-bytes.ts'
export type {
  InheritedListenOptions,
  ListenOptions,
  ServerTlsOptions,
  TcpListenOptions,
  UnixListenOptions,
} from './net/listen/listen-options.ts'
export type { RunOptions, StopReport } from './net/listen/stop-options.ts'
export type { ProxyOptions } from './net/proxies/proxies.ts'
export { type HrefQuery, type HrefValue, type HrefValues, href } from './routing/href.ts'
export type { ParamsOf } from './routing/template.ts'
export type { EmailSchema, UrlSchema } from './schema/addresses.ts'
export type { CheckedTextSchema } from './schema/checked-text.ts'
export type { BoolSchema, EnumSchema, Literal as SchemaLiteral } from './schema/choices.ts'
export type { ArraySchema, ObjectInputOf, ObjectOf, ObjectSchema, Shape as ObjectShape } from './schema/composite.ts'
export type { DateSchema, LocalDateTimeSchema } from './schema/dates.ts'
export type { JsonSchema } from './schema/json-keywords.ts'
export {
  type Converters as JsonSchemaConverters,
  type JsonSchemaTarget,
  JsonSchemaWriter,
  type JsonSchemaWriterOptions,
  type Side as JsonSchemaSide,
  type Writable as JsonSchemaWritable,
} from './schema/json-schema.ts'
export type { LazySchema } from './schema/lazy.ts'
export type { Mismatch, PathPart } from './schema/mismatch.ts'
export type { BigIntSchema, NumberSchema } from './schema/numbers.ts'
export type { Keyed as KeyedRecord, RecordSchema } from './schema/records.ts'
export { type FormTexts, type Presence, type ReadContext, type Reads as SchemaReads, Schema, type SchemaPlace } from './schema/schema.ts'
export { SchemaError } from './schema/schema-error.ts'
export type {
  AnySchema,
  InputOf,
  OutputOf as SchemaOutputOf,
  StandardIssue,
  StandardJsonConverter,
  StandardJsonOptions,
  StandardJsonProps,
  StandardProps,
  StandardResult,
  StandardSchema,
} from './schema/standard.ts'
export { type Named as NamedSchema, t } from './schema/t.ts'
export type { TextSchema, UuidSchema } from './schema/text.ts'
export type { UnionSchema } from './schema/unions.ts'
export { type FetchFunction, HttpServer } from './server.ts'
export type { ServerOptions } from './server-options.ts'
