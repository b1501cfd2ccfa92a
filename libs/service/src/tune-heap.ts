import { tuneHeapForStart } from './heap';

// The first import of a process: those after it create most objects of the start.
tuneHeapForStart();
