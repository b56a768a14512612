// The public face of weir.

export { Controller, type ControllerClass } from './app/controller.ts'
export type { ArgsOf, Declaration, Method, RouteOptions } from './app/declaration.ts'
export {
  type MethodDecorator,
  type PathDecorator,
  Route,
  type RouteEntry,
  type RoutesDeclared,
  type RoutesOf,
  routes,
} from './app/decorators.ts'
export type { Logger, OnError } from './app/dispatch.ts'
export type { MapOptions } from './app/mapping.ts'
export type { BeforeSend, Middleware, Next } from './app/middleware.ts'
export type { InlineHandler, MapAny, MapMethod, Module, ModuleHost } from './app/module-host.ts'
export type { RouteListing } from './app/route-table.ts'
export type { ErrorCode, Fault } from './base/error-codes.ts'
export {
  BindingError,
  type BindingFailure,
  BodyAlreadyReadError,
  BodyNotBufferedError,
  type ConversionError,
  FileRefusedError,
  HttpError,
  LimitError,
  ModelBindingError,
  PayloadTooLargeError,
  ProtocolError,
  RequestExpiredError,
  WeirError,
} from './base/errors.ts'
export type { Limits, Timeouts } from './base/limits.ts'
export type { UnsharedBytes } from './base/unshared-bytes.ts'
export type { FormRecord } from './formats/form.ts'
export type { Pairs } from './formats/pairs.ts'
export type { ByteSource } from './http/answer/byte-source.ts'
export type { FileOptions } from './http/answer/file-options.ts'
export type { Problem } from './http/answer/problem.ts'
export { type FileContent, HttpResponse, type ResponseContent, type TakeOver } from './http/answer/response.ts'
export type { CookieOptions } from './http/answer/set-cookie.ts'
export { type BodyMapAnonymousOptions, type BodyMapOptions, bodyMap, bodyMapAnonymous, type Mappable } from './http/body/body-map.ts'
export type { CertificateName, ClientCertificate } from './http/connection-info.ts'
export type { JsonEngine, JsonSettings, Serialize } from './http/json-engine.ts'
export type { FileData, MultipartFormData, MultipartOptions, UploadedFile } from './http/multipart/multipart-form.ts'
export type { MultipartStreamOptions, UploadedFileInfo } from './http/multipart/multipart-stream.ts'
export type { RequestHeaders } from './http/request/headers.ts'
export type { HttpRequest, RouteValues } from './http/request/request.ts'
export type { RouteMetadata } from './http/route-info.ts'
export { Bag, type BagKey, bagKey, type Endpoint, type HttpSession, type ServerHandle } from './http/session.ts'
export { safeFileName } from './http/uploads/file-name.ts'
export { type SavedFile, type SavePolicy, saveTo } from './http/uploads/save-to.ts'
export { Field, type FieldDecorator, fields } from './model/fields.ts'
export type { KeyPath } from './model/key-paths.ts'
export type { AnswerHead } from './net/inject/answer-reader.ts'
export type { InjectResponse } from './net/inject/inject.ts'
export type { InjectRequest } from './net/inject/request-bytes.ts'
export type { ListenOptions, ServerTlsOptions, TcpListenOptions, UnixListenOptions } from './net/listen/listen-options.ts'
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
export type {
  AnySchema,
  InputOf,
  OutputOf,
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
export {
  HttpServer,
  type RunOptions,
  type ServerOptions,
  type StopOptions,
  type StopReport,
} from './server.ts'
