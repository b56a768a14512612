// The public API of weir.

export { Controller } from './app/controllers/controller.ts'
export { Route, routes } from './app/controllers/decorators.ts'
export type { MapOptions } from './app/controllers/mapping.ts'
export type { OnError } from './app/dispatch.ts'
export { Group, type RouteGroup } from './app/group.ts'
export type { Logger } from './app/logger.ts'
export type { Module, ModuleHost } from './app/module-host.ts'
export type { BeforeSend, Middleware, Next } from './app/policies/middleware.ts'
export type { Check, Gate, Policy, Usable } from './app/policies/policy.ts'
export type { Binding } from './app/routes/binding.ts'
export type { ContractHandlers, ContractOptions } from './app/routes/contract-routes.ts'
export type { ArgsOf, Declaration, GroupOptions, Method, OutputOf, RouteOptions } from './app/routes/declaration.ts'
export { type Pages, type PagesOptions, pages } from './app/routes/pages.ts'
export { cookie, header } from './app/routes/parameter-source.ts'
export type { PolicyListing, RouteLimits, RouteListing } from './app/routes/route-listing.ts'
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
} from './base/errors.ts'
export type { LimitOptions, Limits, TimeoutOptions, Timeouts } from './base/limits.ts'
export type { Size } from './base/size.ts'
export type { Pairs } from './formats/pairs.ts'
export { Bag, type BagKey, bagKey } from './http/bag.ts'
export type { BodyMapAnonymousOptions, BodyMapOptions } from './http/body/body-map.ts'
export { bodyMap, bodyMapAnonymous } from './http/body/body-map.ts'
export { type MergePatch, mergePatch } from './http/body/merge-patch-body.ts'
export { bytes, events, stream, text } from './http/body/plain-body.ts'
export { form, json } from './http/body/schema-body.ts'
export { verified } from './http/body/verified-body.ts'
export type { ClientCertificate, SocketPeer } from './http/connection-info.ts'
export type { ExchangeObserver, ExchangeRecord, ExchangeStart, Outcome, RecordKind } from './http/exchange-record.ts'
export type { JsonEngine, JsonSettings } from './http/json-engine.ts'
export { type FileRules, file } from './http/multipart/file-field.ts'
export type { SavedFile } from './http/multipart/file-store.ts'
export { multipart } from './http/multipart/form-body.ts'
export type { FileData, MultipartFormData, MultipartOptions, UploadedFile } from './http/multipart/multipart-form.ts'
export type { MultipartStreamOptions, UploadedFileInfo } from './http/multipart/multipart-stream.ts'
export type { RequestHeaders } from './http/request/headers.ts'
export type { HttpRequest, RouteValues } from './http/request/request.ts'
export type { ByteSource } from './http/response/byte-source.ts'
export { type CsvOptions, csv } from './http/response/csv.ts'
export type { EarlyHintsOptions } from './http/response/early-hints.ts'
export type { FileOptions } from './http/response/file-options.ts'
export { Problem } from './http/response/problem.ts'
export { HttpResponse } from './http/response/response.ts'
export type { ResponseContent } from './http/response/response-content.ts'
export type { CookieOptions } from './http/response/set-cookie.ts'
export type { RouteMetadata } from './http/route-info.ts'
export type { Endpoint, HttpSession, ServerHandle } from './http/session.ts'
export type { StopOptions } from './http/stop-options.ts'
export type { ContentPolicy, UploadInfo } from './http/uploads/content-policy.ts'
export { safeFileName } from './http/uploads/file-name.ts'
export { saveTo } from './http/uploads/save-to.ts'
export type { SavePolicy } from './http/uploads/save-upload.ts'
export { Field, fields } from './model/fields.ts'
export type { InjectResponse } from './net/inject/inject.ts'
export type { InjectRequest } from './net/inject/request-bytes.ts'
export type { ListenOptions, ServerTlsOptions } from './net/listen/listen-options.ts'
export type { RunOptions, StopReport } from './net/listen/stop-options.ts'
export type { ProxyOptions } from './net/proxies/proxies.ts'
export { href } from './routing/href.ts'
export { Schema } from './schema/schema.ts'
export { SchemaError } from './schema/schema-error.ts'
export type { InputOf } from './schema/standard.ts'
export { t } from './schema/t.ts'
export { HttpServer } from './server.ts'
export type { ServerOptions } from './server-options.ts'
