# libheadwater_infer, shared and static: the rooms that run a frozen model, and no others. Only the C interface is visible. The
# declarations of operators (ir, op, ops) are in it because a file from outside is checked by their rules.
#   cmake --install build/release --component infer --prefix DIR
#   g++ -std=c++17 program.cpp -IDIR/include -LDIR/lib -lheadwater_infer -Wl,-rpath,DIR/lib
set(infer_objects "")
foreach(room base core sbp ir plan op ops kernels backends_cpu backends_onednn codegen chain infer)
  if(TARGET hw_${room})
    list(APPEND infer_objects $<FILTER:$<TARGET_OBJECTS:hw_${room}>,EXCLUDE,[.]gch$>)
  endif()
endforeach()

set(infer_exports ${CMAKE_SOURCE_DIR}/cmake/infer_exports.map)
add_library(headwater_infer SHARED ${infer_objects})
target_link_libraries(headwater_infer PRIVATE ${HEADWATER_LIBRARIES})
target_link_options(headwater_infer PRIVATE -Wl,--version-script=${infer_exports} -Wl,-Bsymbolic -Wl,-z,defs
                    -Wl,--gc-sections)
set_target_properties(headwater_infer PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION 0 INSTALL_RPATH "$ORIGIN"
                                                 LINK_DEPENDS ${infer_exports})

# The static library is one object: from several, a linker would drop kernels, which nothing names. It holds Highway; a program that
# uses it also links what is listed in docs/guide/deploy.md.
set(infer_object ${CMAKE_BINARY_DIR}/headwater_infer.o)
set(infer_archive ${CMAKE_BINARY_DIR}/libheadwater_infer.a)
find_program(GNU_LD NAMES ld.bfd ld REQUIRED)
set(infer_static "")
if(HWY_LIBRARY MATCHES "\\.a$")
  set(infer_static --whole-archive ${HWY_LIBRARY} --no-whole-archive)
endif()
add_custom_command(OUTPUT ${infer_archive}
                   COMMAND ${GNU_LD} -r -o ${infer_object} "$<JOIN:${infer_objects},;>" ${infer_static}
                   COMMAND ${CMAKE_OBJCOPY} --wildcard --keep-global-symbol=hwi_* ${infer_object}
                   COMMAND ${CMAKE_COMMAND} -E rm -f ${infer_archive}
                   COMMAND ${CMAKE_AR} rcs ${infer_archive} ${infer_object}
                   DEPENDS ${infer_objects} COMMAND_EXPAND_LISTS VERBATIM)
add_custom_target(headwater_infer_static ALL DEPENDS ${infer_archive})

install(TARGETS headwater_infer COMPONENT infer LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES ${infer_archive} DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT infer)
install(FILES src/infer/headwater_infer.h src/infer/headwater_infer.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        COMPONENT infer)
install(FILES LICENSE THIRD_PARTY_NOTICES DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/headwater_infer COMPONENT infer)
