import hello from './w1-hello.mjs'

export default { ...hello, id: 'w6', title: 'w1, pipelined 16 deep', depth: 16 }
