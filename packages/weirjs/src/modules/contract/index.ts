// The public API of weirjs/contract: what contracts, declarations of routes and typed bodies are made of, for the declarations that a compiler
// writes, and for code that takes them as arguments.

export type { DeclaredPathDecorator, MethodDecorator, PathDecorator, RouteEntry, RoutesDeclared } from '../../app/controllers/decorators.ts'
export type { InlineHandler, MapAny, MapMethod } from '../../app/module-host.ts'
export type { Contract, Entry, EntryOptions, WebSocketEntry, WebSocketEntryOptions } from '../../app/routes/contract.ts'
export type { ContractHandler, EntryServer } from '../../app/routes/contract-routes.ts'
export type { BodyOption, BoundNames, GroupDeclaration, NoDeclaration, ToolOptions } from '../../app/routes/declaration.ts'
export type { ParameterSource } from '../../app/routes/parameter-source.ts'
export type { Answers } from '../../app/routes/route-answers.ts'
export type { MessageSchemas } from '../../app/routes/upgrade-handler.ts'
export type { EventsBody, StreamBody } from '../../http/body/plain-body.ts'
export type { TypedBody } from '../../http/body/typed-body.ts'
export type { FileField } from '../../http/multipart/file-field.ts'
export type { FileStore } from '../../http/multipart/file-store.ts'
export type { MultipartBody, MultipartOf, MultipartShape } from '../../http/multipart/form-body.ts'
export type { UploadedFile } from '../../http/multipart/multipart-form.ts'
