// Starts the program in the executable, with the code that V8 has compiled for it before.

const { getAsset, getRawAsset } = require('node:sea')
const { Script } = require('node:vm')

const script = new Script(getAsset('main.js', 'utf8'), { filename: 'main.js', cachedData: new Uint8Array(getRawAsset('code')) })
if (script.cachedDataRejected) process.emitWarning('the compiled code is not of this Node.js: the start takes longer')
script.runInThisContext()(require, __filename)
