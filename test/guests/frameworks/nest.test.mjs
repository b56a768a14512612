// Nest on Express: the instance of its adapter is an Express application. Nest's decorators are called, because they need a compiler.
import 'reflect-metadata'

import assert from 'node:assert/strict'

import {
  BadRequestException,
  Body,
  Controller,
  ForbiddenException,
  Get,
  Header,
  HttpCode,
  Injectable,
  Module,
  Param,
  ParseIntPipe,
  Post,
  Query,
  Redirect,
  Req,
  Res,
  Sse,
  StreamableFile,
  UploadedFile,
  UseGuards,
  UseInterceptors,
  ValidationPipe,
} from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { ExpressAdapter, FileInterceptor } from '@nestjs/platform-express'
import { IsEmail, IsInt, Max } from 'class-validator'
import { interval, map, take, tap } from 'rxjs'

import { inPieces, multipart } from '../support/client.mjs'
import { guest } from '../support/guest.mjs'

const onClass = (target, types, ...decorators) => {
  Reflect.defineMetadata('design:paramtypes', types, target)
  Reflect.decorate(decorators, target)
}
const onMethod = ({ prototype }, name, types, parameters, ...decorators) => {
  Reflect.defineMetadata('design:paramtypes', types, prototype, name)
  for (const [i, decorate] of parameters.entries()) decorate(prototype, name, i)
  Object.defineProperty(prototype, name, Reflect.decorate(decorators, prototype, name, Object.getOwnPropertyDescriptor(prototype, name)))
}

class Person {}
Reflect.decorate([IsEmail()], Person.prototype, 'mail')
Reflect.decorate([IsInt(), Max(150)], Person.prototype, 'age')

class People {
  find(id) {
    return { id, name: 'Ada' }
  }
}
onClass(People, [], Injectable())

class TokenGuard {
  canActivate(context) {
    const { authorization } = context.switchToHttp().getRequest().headers
    if (authorization === 'no') throw new ForbiddenException('not you')
    return authorization === 'yes'
  }
}
onClass(TokenGuard, [], Injectable())

class Envelope {
  intercept(_context, next) {
    return next.handle().pipe(map((data) => ({ data })))
  }
}

class PeopleController {
  constructor(people) {
    this.people = people
  }
  show(id, page) {
    return { ...this.people.find(id), page }
  }
  create(person) {
    return { ...person, isPerson: person instanceof Person }
  }
  guarded() {
    return 'guarded'
  }
  events() {
    return interval(5).pipe(
      take(3),
      map((i) => ({ data: { i }, id: `${i}`, type: 'tick' })),
    )
  }
  endless(request) {
    return interval(5).pipe(
      tap({ unsubscribe: () => (request.app.locals.left = true) }),
      map((i) => ({ data: `${i}` })),
    )
  }
  left(request) {
    return { left: request.app.locals.left === true }
  }
  upload(file, body) {
    return { name: file.originalname, size: file.size, title: body.title }
  }
  file() {
    return new StreamableFile(Buffer.alloc(200_000, 'file'), { type: 'text/plain', disposition: 'attachment; filename=a.txt' })
  }
  own(response) {
    response.status(202).set('x-own', 'yes').send('own')
  }
  fails() {
    throw new BadRequestException(['a', 'b'])
  }
  throws() {
    throw new Error('secret')
  }
  moved() {}
}
onClass(PeopleController, [People], Controller('people'))
onMethod(
  PeopleController,
  'show',
  [Number, String],
  [Param('id', ParseIntPipe), Query('page')],
  Get('by/:id'),
  UseInterceptors(new Envelope()),
)
onMethod(PeopleController, 'create', [Person], [Body()], Post(), HttpCode(201), Header('x-made', 'yes'))
onMethod(PeopleController, 'guarded', [], [], Get('guarded'), UseGuards(TokenGuard))
onMethod(PeopleController, 'events', [], [], Sse('events'))
onMethod(PeopleController, 'endless', [Object], [Req()], Sse('endless'))
onMethod(PeopleController, 'left', [Object], [Req()], Get('left'))
onMethod(PeopleController, 'upload', [Object, Object], [UploadedFile(), Body()], Post('upload'), UseInterceptors(FileInterceptor('photo')))
onMethod(PeopleController, 'file', [], [], Get('file'))
onMethod(PeopleController, 'own', [Object], [Res()], Get('own'))
onMethod(PeopleController, 'fails', [], [], Get('fails'))
onMethod(PeopleController, 'throws', [], [], Get('throws'))
onMethod(PeopleController, 'moved', [], [], Get('moved'), Redirect('/people/own', 301))

class AppModule {}
onClass(AppModule, [], Module({ controllers: [PeopleController], providers: [People, TokenGuard] }))

guest('Nest', {
  measured: '/people/by/7',
  kind: 'framework',
  packages: ['@nestjs/core', '@nestjs/platform-express'],
  driven:
    'controllers, pipes, guards, an interceptor, validation, server-sent events, a client that leaves them, an upload, a streamed file, `@Res()`, errors',
  app: async () => {
    const nest = await NestFactory.create(AppModule, new ExpressAdapter(), { logger: false })
    nest.useGlobalPipes(new ValidationPipe({ transform: true, whitelist: true }))
    nest.enableCors()
    await nest.init()
    return { handler: nest.getHttpAdapter().getInstance(), close: () => nest.close() }
  },
  async drive({ get, post, open }) {
    assert.deepEqual((await get('/people/by/7?page=2')).json(), { data: { id: 7, name: 'Ada', page: '2' } })
    assert.match((await get('/people/by/x')).json().message, /numeric string/)
    assert.deepEqual((await post('/people', { mail: 'a@example.com', age: 36, more: 1 })).json(), {
      mail: 'a@example.com',
      age: 36,
      isPerson: true,
    })
    assert.equal((await post('/people', { mail: 'no', age: 200 })).json().message.length, 2)
    assert.equal((await post('/people', '{', { headers: { 'content-type': 'application/json' } })).status, 400)
    assert.equal((await get('/people/guarded', { headers: { authorization: 'yes' } })).text, 'guarded')
    assert.equal((await get('/people/guarded', { headers: { authorization: 'no' } })).json().message, 'not you')
    assert.equal((await get('/people/guarded')).status, 403)
    assert.match((await get('/people/events')).text, /event: tick\nid: 2\ndata: \{"i":2\}/)
    const stream = open('GET /people/endless HTTP/1.1\r\nHost: localhost\r\n\r\n')
    await stream.read('data: 3')
    stream.leave()
    let left = false
    for (let i = 0; i < 100 && !left; i++) {
      await new Promise((resolve) => setTimeout(resolve, 10))
      left = (await get('/people/left', { hidden: true })).json().left
    }
    assert.ok(left, 'the observable was not unsubscribed')
    const { body, headers } = multipart([
      ['title', 'ü'],
      ['photo', Buffer.alloc(100_000, 'x'), 'a.png', 'image/png'],
    ])
    assert.deepEqual((await post('/people/upload', inPieces(body, 7000), { headers })).json(), { name: 'a.png', size: 100_000, title: 'ü' })
    const file = await get('/people/file')
    assert.deepEqual([file.bytes.length, file.header('content-disposition')], [200_000, 'attachment; filename=a.txt'])
    assert.equal((await get('/people/own')).status, 202)
    assert.deepEqual((await get('/people/fails')).json().message, ['a', 'b'])
    assert.deepEqual((await get('/people/throws')).json(), { statusCode: 500, message: 'Internal server error' })
    assert.equal((await get('/people/moved')).header('location'), '/people/own')
    assert.equal((await get('/none')).json().message, 'Cannot GET /none')
  },
})
